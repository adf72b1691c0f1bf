/* Programs in Fortran. The libraries of Fortran's bindings call MPI in C, some of them by PMPI_X, which no preloaded function replaces:
 * all of Open MPI's, and of MPICH's `mpi_f08` what has no buffer (MPI_Init among it). Their slots for PMPI_X are pointed to MPI_X of this
 * library before the program starts, and with them all forms: mpif.h, `use mpi`, `use mpi_f08`, and however a compiler spells names.
 */
#include <link.h>
#include <sys/mman.h>

#include "bridge.h"

#ifdef MPICH
/* MPICH's bindings take attributes by a function of their own, which knows nothing of the world. Its keys of the library's own attributes
 * are one higher than those in C. */
int MPII_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag, int kind);

static int get_attribute(MPI_Comm comm, int key, void *value, int *flag, int kind) {
    int *number, in_c = key - 1;
    if (in_c != MPI_TAG_UB && in_c != MPI_UNIVERSE_SIZE && in_c != MPI_APPNUM && in_c != MPI_WTIME_IS_GLOBAL)
        return MPII_Comm_get_attr(comm, key, value, flag, kind);
    int error = MPI_Comm_get_attr(comm, in_c, &number, flag);
    if (!error && *flag)
        *(MPI_Aint *)value = *number;
    return error;
}
#endif

/* Functions of this library: not those of another one that is preloaded, too. */
static void *replacement(void *self, const char *name) {
#ifdef MPICH
    if (!strcmp(name, "MPII_Comm_get_attr"))
        return (void *)get_attribute;
#endif
    return strncmp(name, "PMPI_", 5) ? NULL : dlsym(self, name + 1);
}

/* The tables of a loaded library hold addresses, on some machines without its base. */
static uintptr_t address(const struct dl_phdr_info *info, uintptr_t value) {
    return value < info->dlpi_addr ? info->dlpi_addr + value : value;
}

static void redirect(const struct dl_phdr_info *info, const ElfW(Dyn) *entry, void *self) {
    uintptr_t symbols = 0, names = 0, tables[2] = {0}, bytes[2] = {0}; /* slots of calls by way of a table, and without one (-fno-plt) */
    for (; entry->d_tag != DT_NULL; entry++)
        switch (entry->d_tag) {
        case DT_SYMTAB: symbols = address(info, entry->d_un.d_ptr); break;
        case DT_STRTAB: names = address(info, entry->d_un.d_ptr); break;
        case DT_JMPREL: tables[0] = address(info, entry->d_un.d_ptr); break;
        case DT_PLTRELSZ: bytes[0] = entry->d_un.d_val; break;
        case DT_RELA: tables[1] = address(info, entry->d_un.d_ptr); break;
        case DT_RELASZ: bytes[1] = entry->d_un.d_val; break;
        }
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int table = 0; table < 2; table++) {
        const ElfW(Rela) *end = (const ElfW(Rela) *)(tables[table] + bytes[table]);
        for (const ElfW(Rela) *slot = (const ElfW(Rela) *)tables[table]; slot < end; slot++) {
            const ElfW(Sym) *symbol = (const ElfW(Sym) *)symbols + (slot->r_info >> 32);
            void *function = replacement(self, (const char *)names + symbol->st_name);
            void **place = (void **)(info->dlpi_addr + slot->r_offset);
            if (!function || *place == function)
                continue;
            mprotect((void *)((uintptr_t)place & ~(page - 1)), page, PROT_READ | PROT_WRITE); /* read-only where all was bound at load */
            *place = function;
        }
    }
}

static bool is_fortran(const char *file) {
    static const char *const libraries[] = {"libmpichfort", "libmpifort", "libmpi_mpifh", "libmpi_usempi"}; /* twice MPICH, Open MPI */
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (!strncmp(name, libraries[i], strlen(libraries[i])))
            return true;
    return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *self) {
    for (int i = 0; is_fortran(info->dlpi_name) && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            redirect(info, (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), self);
    return 0;
}

__attribute__((constructor)) static void redirect_fortran(void) {
    Dl_info here;
    if (getenv("STEPPE_BRIDGE_SOCKET") && dladdr((void *)redirect_fortran, &here))
        dl_iterate_phdr(look, dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD));
}
