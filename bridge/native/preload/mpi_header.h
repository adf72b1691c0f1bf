/* <mpi.h> for a library that is loaded before the program's MPI, or without one: no data of MPI's library is bound when this one is loaded,
 * and large counts (PMPI_X_c) go by the narrow form where they fit, which every library has. The wrappers take each form as it is.
 */
#ifndef STEPPE_BRIDGE_MPI_HEADER_H
#define STEPPE_BRIDGE_MPI_HEADER_H

#include <dlfcn.h>
#include <mpi.h>

/* The address of a datum of MPI's library, looked up once at each place. bridge_enter() has made the library's symbols global. */
#define MPI_DATUM(name) \
    ({ \
        static void *address_of_##name; \
        address_of_##name ? address_of_##name : (address_of_##name = dlsym(RTLD_DEFAULT, #name)); \
    })

#ifdef OPEN_MPI
#include <mpi-ext.h>
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)MPI_DATUM(global))
#elif defined MPICH
#define MPI_UNWEIGHTED (*(int *const *)MPI_DATUM(MPI_UNWEIGHTED))
#define MPI_WEIGHTS_EMPTY (*(int *const *)MPI_DATUM(MPI_WEIGHTS_EMPTY))
#endif

_Static_assert(sizeof(MPI_Count) == 8 && sizeof(MPI_Aint) == 8, "a struct vector holds either");

#ifndef WRAPPERS
#include "narrow.h"
#endif

#endif
