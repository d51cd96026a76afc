power_sources(cgroup.c file.c guard.c machine.c map.c thread.c)
