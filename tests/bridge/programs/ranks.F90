! Ranks of several sites in Fortran. FORM: 1 `include 'mpif.h'`, 2 `use mpi`, 3 `use mpi_f08`. Rank 0 prints what it saw, and an error by name.
program ranks
#if FORM == 3
  use mpi_f08
#elif FORM == 2
  use mpi
#endif
  implicit none
#if FORM == 1
  include 'mpif.h'
#endif
#if FORM == 3
  type(MPI_Comm) :: part
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  type(MPI_Win) :: window
#else
  integer :: part, request, status(MPI_STATUS_SIZE), window
#endif
  integer :: rank, size, source, sent(3), got(3), total(3), backwards, ierror, ignored, length
  integer(kind=MPI_ADDRESS_KIND) :: limit, bytes
  logical :: found
  character(len=MPI_MAX_ERROR_STRING) :: text

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, limit, found, ierror)
  sent = [rank, 10 * rank, 100 * rank]
  call MPI_Isend(sent, 3, MPI_INTEGER, mod(rank + 1, size), 5, MPI_COMM_WORLD, request, ierror)
  call MPI_Recv(got, 3, MPI_INTEGER, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, status, ierror)
#if FORM == 3
  source = status%MPI_SOURCE
#else
  source = status(MPI_SOURCE)
#endif
  call MPI_Wait(request, status, ierror)
  total = sent
  call MPI_Allreduce(MPI_IN_PLACE, total, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, part, ierror)
  call MPI_Comm_rank(part, backwards, ierror)
  call MPI_Comm_free(part, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  bytes = 12
  call MPI_Win_create(total, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierror)
  call MPI_Error_string(ierror, text, length, ignored)
  if (rank == 0) then
    print '(2(A, I0), A, 3(1X, I0))', 'rank 0 of ', size, ' from ', source, ':', got
    print '(A, 3(1X, I0), A, I0, A, L1, 1X, I0)', 'sum', total, ', backwards ', backwards, ', limit ', found, limit
    print '(A)', text(1:length)
  end if
  call MPI_Finalize(ierror)
end program
