! Chemistry of many cells by code that KPP has made, one cell after the other, RODAS3: reads cases, prints seconds and steps of each round,
! and writes the concentrations. Species and rates are in the order of the cases; `place` says where KPP has put each species.
program air_kpp
  use given_parameters, only: nspec, nvar, nreact, dp
  use given_global, only: c, rconst, time, rtol, atol, fix
  use given_integrator, only: integrate
  use given_initialize, only: initialize
  use given_place, only: place
  implicit none
  integer :: cells, rounds, round, cell, control(20), told(20)
  real(dp) :: seconds, relative, absolute, first, begun, ended, numbers(20), steps
  real(dp), allocatable :: start(:, :), k(:, :), found(:, :)
  character(len=512) :: cases, results

  call get_command_argument(1, cases)
  call get_command_argument(2, results)
  open(10, file=trim(cases), access='stream', form='unformatted', status='old')
  read(10) cells, rounds, seconds, relative, absolute, first
  allocate(start(nvar, cells), k(nreact, cells), found(nvar, cells))
  read(10) start, k
  close(10)
  rtol = relative
  atol = absolute
  call initialize()     ! counts the species whose errors are controlled
  control = 0
  control(1) = 1        ! rates do not change in time
  control(3) = 4        ! RODAS3
  control(15) = -1      ! rates are given
  numbers = 0.0_dp
  numbers(3) = first
  do round = 1, rounds
    steps = 0.0_dp
    call cpu_time(begun)
    do cell = 1, cells
      c(1:nspec) = 1.0_dp   ! of what is fixed
      c(place) = start(:, cell)
      rconst = k(:, cell)
      time = 0.0_dp
      call integrate(0.0_dp, seconds, control, numbers, told)
      found(:, cell) = c(place)
      steps = steps + told(3)
    end do
    call cpu_time(ended)
    print '(2es16.8)', ended - begun, steps / cells
  end do
  open(11, file=trim(results), access='stream', form='unformatted', status='replace')
  write(11) found
  close(11)
end program air_kpp
