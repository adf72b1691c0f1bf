/* Topologies of communicators that span sites: see topology.c. */
#ifndef STEPPE_BRIDGE_TOPOLOGY_H
#define STEPPE_BRIDGE_TOPOLOGY_H

#include "bridge.h"

struct topology {
    int kind;       /* MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH */
    int n, m;       /* dimensions; ranks and edges; sources and destinations */
    bool weighted;
    size_t numbers; /* of `data` */
    int data[];
};

/* The neighbours of this rank: how many sources; the caller frees both lists. MPI_PROC_NULL stands for none. */
int topology_degrees(struct communicator *c, int *dests);
int topology_neighbors(struct communicator *c, int **sources, int **dests, int *n_dests);

#endif
