/* Start and end: finds the MPI library of the program, joins the world through the gateway of this site. */
#include <dlfcn.h>
#include <link.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <wchar.h>

#include "bridge.h"

#if defined(OPEN_MPI)
#define BUILT_FOR "Open MPI"
#define OURS(name) (!strncmp(name, "libmpi.so.40", 12))
#elif defined(MPI_ABI_VERSION) && !defined(MPICH_VERSION)
#define BUILT_FOR "MPI's standard ABI"
#define OURS(name) (!strncmp(name, "libmpi_abi.so", 13))
#else
#define BUILT_FOR "MPICH"
#define OURS(name) (!strncmp(name, "libmpi.so.12", 12) || !strncmp(name, "libmpich.so", 11) || !strncmp(name, "libmpi_cray.so", 14))
#endif

int bridge_mode = BRIDGE_UNKNOWN;
struct world world;
static bool linked;
static pid_t process; /* of the rank, not one that it forked */
static char library_file[4096];
static bool library_ours;

static int look(struct dl_phdr_info *info, size_t size, void *unused) {
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    bool ours = OURS(name);
    if (ours || (!library_file[0] && (!strncmp(name, "libmpi.so", 9) || !strncmp(name, "libmpich.so", 11) || !strncmp(name, "libmpi_abi.so", 13)))) {
        snprintf(library_file, sizeof library_file, "%s", info->dlpi_name);
        library_ours = ours;
    }
    return ours;
}

/* The library may have been loaded for one module alone (Python does): it is made visible to all, so that PMPI_X is found when it is called. */
static void find_mpi(void) {
    dl_iterate_phdr(look, NULL);
    if (library_file[0] && !library_ours)
        stop("the program loads %s, but the preloaded library is the one for %s. Choose another: mpi= of a --site, or --mpi.", library_file,
             BUILT_FOR);
    if (library_file[0])
        dlopen(library_file, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    bridge_mode = getenv("STEPPE_BRIDGE_SOCKET") ? BRIDGE_ON : BRIDGE_INERT;
}

void bridge_enter(void) {
    if (bridge_mode == BRIDGE_LENT)
        helper_recall();
    else
        find_mpi();
}

/* The gateway says it, once for all sites. */
static void end_world(int code, const char *sentence) {
    linked = false;
    link_control(FRAME_ABORT, -1, code, 0, 0, sentence, (uint32_t)strlen(sentence));
    for (int i = 0; i < 100 && link_unsent(); i++, usleep(10000))
        link_write();
}

/* A rank that calls exit before MPI_Finalize: only here is its code known for certain, as the launcher reports that of any rank. */
static void ended(int code, void *unused) {
    code &= 255; /* what a process can return */
    if (!linked || !code || getpid() != process)
        return;
    if (bridge_mode == BRIDGE_LENT)
        helper_end();
    char sentence[200];
    snprintf(sentence, sizeof sentence, "Rank %d of site %s (world rank %d) ended with code %d, without MPI_Finalize.", world.local_of[world.rank],
             world.names[world.site], world.rank, code);
    end_world(code, sentence);
}

/* Its handler runs after those of the program, which may call MPI_Finalize. */
__attribute__((constructor)) static void watch_end(void) { on_exit(ended, NULL); }

void stop_with(int code, const char *format, ...) {
    char sentence[1024] = "steppe bridge: ";
    size_t start = strlen(sentence);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence + start, sizeof sentence - start, format, arguments);
    va_end(arguments);
    if (linked)
        end_world(code, sentence + start);
    else
        fprintf(stderr, "%s\n", sentence);
    _exit(code);
}

/* A socket to a path, or to HOST:PORT; -1 if nothing listens there. */
static int try_connect(const char *path, const char *host, const char *port) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct addrinfo local = {.ai_family = AF_UNIX, .ai_addr = (struct sockaddr *)&name, .ai_addrlen = sizeof name}, *found = &local;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int descriptor = -1, yes = 1;
    if (path)
        snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
    else if (getaddrinfo(host, port, &hints, &found))
        return -1;
    for (struct addrinfo *at = found; at && descriptor < 0; at = at->ai_next) {
        descriptor = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(descriptor, at->ai_addr, at->ai_addrlen))
            close(descriptor), descriptor = -1;
    }
    if (!path)
        freeaddrinfo(found), setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return descriptor;
}

static int connect_gateway(const char *address) {
    char host[256] = "", *port = host;
    const char *path = !strncmp(address, "unix:", 5) ? address + 5 : NULL;
    if (!strncmp(address, "tcp:", 4)) {
        snprintf(host, sizeof host, "%s", address + 4);
        if ((port = strrchr(host, ':')))
            *port++ = 0;
    }
    if ((!path && (!port || !*port)) || (path && strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path))
        stop("STEPPE_BRIDGE_SOCKET is \"%s\"; expected unix: and a short path, or tcp: and HOST:PORT.", address);
    int descriptor;
    for (int tries = 0; (descriptor = try_connect(path, host, port)) < 0; tries++) {
        if (tries == 400)
            stop("no gateway answers at %s: %s.", address, strerror(errno));
        usleep(25000);
    }
    int room = 4 << 20;
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    return descriptor;
}

static struct machine this_machine(void) {
    const uint16_t one = 1;
    return (struct machine){.little_endian = *(const uint8_t *)&one, .size_of_long = sizeof(long), .size_of_long_double = sizeof(long double),
                            .size_of_wide_char = sizeof(wchar_t), .size_of_pointer = sizeof(void *), .size_of_bool = sizeof(bool)};
}

static void read_world(const struct frame *frame, const char *payload) {
    world.site = frame->source, world.rank = frame->dest, world.sites = frame->tag, world.size = (int)frame->total, world.window = frame->id;
    world.site_of = grow(NULL, (size_t)world.size * sizeof(int));
    world.local_of = grow(NULL, (size_t)world.size * sizeof(int));
    world.world_of = grow(NULL, (size_t)world.size * sizeof(int));
    int *seen = calloc((size_t)world.sites, sizeof(int));
    for (int r = 0; r < world.size; r++) {
        int32_t site;
        memcpy(&site, payload + 4 * r, 4);
        world.site_of[r] = site;
        if (site == world.site)
            world.world_of[seen[site]] = r;
        world.local_of[r] = seen[site]++;
    }
    world.alone = seen[world.site] == 1;
    free(seen);
    size_t length = frame->length - 4 * (size_t)world.size;
    char *names = grow(NULL, length);
    memcpy(names, payload + 4 * world.size, length);
    world.names = grow(NULL, (size_t)world.sites * sizeof *world.names);
    for (int s = 0; s < world.sites; s++, names += strlen(names) + 1)
        world.names[s] = names;
}

/* MPI_Finalize first deletes the attributes of MPI_COMM_SELF, the last one first: the functions of the program still have the whole world. */
static int leave(MPI_Comm self, int key, void *value, void *state) {
    struct communicator *c = bridge_spans(MPI_COMM_WORLD);
    if (c)
        collective_run(c, barrier, &(struct call){0});
    link_drain();
    link_control(FRAME_BYE, -1, 0, 0, 0, NULL, 0);
    link_drain();
    linked = false;
    bridge_mode = BRIDGE_INERT;
    if (c)
        communicator_release(c);
    return PMPI_Group_free(&world.local);
}

static int not_copied(MPI_Comm from, int key, void *state, void *value, void *copy, int *flag) {
    return *flag = 0, MPI_SUCCESS;
}

static void leave_at_end(void) {
    int key;
    PMPI_Comm_create_keyval(not_copied, leave, &key, NULL);
    PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    PMPI_Comm_free_keyval(&key);
}

static void join(void) {
    int rank, size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    link_open(connect_gateway(getenv("STEPPE_BRIDGE_SOCKET")));
    struct { struct machine machine; uint8_t proof[CHALLENGE]; } hello = {.machine = this_machine()};
    bool proves = !strncmp(getenv("STEPPE_BRIDGE_SOCKET"), "tcp:", 4);
    static char payload[FRAME_PAYLOAD];
    struct frame frame;
    if (proves && link_read_frame(&frame, payload, CHALLENGE) == FRAME_HELLO)
        prove(payload, CHALLENGE, hello.proof);
    frame = (struct frame){.type = FRAME_HELLO, .source = rank, .dest = size, .tag = WIRE_PROTOCOL};
    link_hello(&frame, &hello, sizeof hello.machine + (proves ? CHALLENGE : 0));
    if (link_read_frame(&frame, payload, sizeof payload) != FRAME_WORLD)
        _exit(frame.tag ? frame.tag : EXIT_BRIDGE); /* an ABORT: its gateway has said why */
    read_world(&frame, payload);
    link_start(world.size, world.window);
    linked = true, process = getpid();
    PMPI_Comm_group(MPI_COMM_WORLD, &world.local);
    if (world.sites > 1) {
        int *ranks = grow(NULL, (size_t)world.size * sizeof(int));
        for (int i = 0; i < world.size; i++)
            ranks[i] = i;
        communicator_enter(MPI_COMM_WORLD, communicator_inner(MPI_COMM_WORLD), world.size, ranks, 2);
        free(ranks);
    }
    leave_at_end();
}

int bridge_Init(int *argc, char ***argv) {
    int error = PMPI_Init(argc, argv);
    if (!error)
        join();
    return error;
}

int bridge_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int error = PMPI_Init_thread(argc, argv, required > MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED : required, provided);
    if (error)
        return error;
    join();
    if (required > MPI_THREAD_SERIALIZED && world.rank == 0)
        fprintf(stderr, "steppe bridge: the program asks for MPI_THREAD_MULTIPLE; MPI_THREAD_SERIALIZED is granted.\n");
    return MPI_SUCCESS;
}

/* As most libraries do, it ends all. */
int bridge_Abort(MPI_Comm handle, int code) {
    char sentence[100];
    snprintf(sentence, sizeof sentence, "Rank %d of the world called MPI_Abort with code %d.", world.rank, code);
    end_world(code, sentence);
    return PMPI_Abort(MPI_COMM_WORLD, code);
}

/* Programs look at the beginning for the name of the library. */
int bridge_Get_library_version(char *text, int *length) {
    int error = PMPI_Get_library_version(text, length);
    if (!error && (size_t)*length + sizeof "\nSteppe bridge" <= MPI_MAX_LIBRARY_VERSION_STRING)
        *length += sprintf(text + strlen(text), "\nSteppe bridge");
    return error;
}
