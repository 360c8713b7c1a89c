// What native code can do from inside a process: it runs when it is loaded, says each thing and the errno it ended
// with (0 where it could be done), and ends the process. It is run outside as well, so nothing in it may do harm.
// GLOVEBOX_PORT, _PID, _FILE and _HOME are the host's.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, long result) { printf("%s %d\n", what, result < 0 ? errno : 0); }

static const char *host(const char *name) {
  const char *value = getenv(name);
  return value == NULL ? "0" : value;
}

static void *nothing(void *given) { return given; }

static void tryNetwork(void) {
  say("socket-unix", socket(AF_UNIX, SOCK_STREAM, 0));
  say("socket-netlink", socket(AF_NETLINK, SOCK_RAW, 0));
  int inet = socket(AF_INET, SOCK_STREAM, 0);
  say("socket-inet", inet);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(host("GLOVEBOX_PORT")))};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  say("connect", connect(inet, (struct sockaddr *)&to, sizeof to));
}

static void tryFiles(void) {
  say("read-passwd", open("/etc/passwd", O_RDONLY));
  say("read-file", open(host("GLOVEBOX_FILE"), O_RDONLY));
  say("read-home", open(host("GLOVEBOX_HOME"), O_RDONLY | O_DIRECTORY));
  say("write-file", open(host("GLOVEBOX_FILE"), O_WRONLY));
  // Asked, not done: this program runs outside as well, and there perhaps as root.
  say("write-root", access("/", W_OK));
  say("write-libraries", access("/usr/lib", W_OK));
  say("write-shm", access("/dev/shm", W_OK));
  say("write-comm", open("/proc/self/comm", O_WRONLY));
  say("memfd", syscall(SYS_memfd_create, "m", 0));
}

static void tryProcesses(void) {
  pid_t pid = atoi(host("GLOVEBOX_PID"));
  char byte = 0;
  struct iovec own = {&byte, 1}, theirs = {&own, 1};
  say("signal-host", kill(pid, 0));
  say("read-host", process_vm_readv(pid, &own, 1, &theirs, 1, 0));
  say("trace", ptrace(PTRACE_ATTACH, -1, NULL, NULL));
  pid_t child = fork();
  if (child == 0) _exit(0);
  say("fork", child);
  if (child > 0) waitpid(child, NULL, 0);
  pthread_t thread;
  errno = pthread_create(&thread, NULL, nothing, NULL);
  say("thread", errno == 0 ? 0 : -1);
  DIR *proc = opendir("/proc");
  for (struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
    if (atoi(entry->d_name) > 0) printf("process %s\n", entry->d_name);
  }
}

// Whether the kernel listens at all. None of these does anything where it does: their arguments are void.
static void tryKernel(void) {
  say("unshare", unshare(0));
  say("setns", setns(-1, 0));
  say("mount", syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
  say("umount", syscall(SYS_umount2, NULL, 0));
  say("pivot", syscall(SYS_pivot_root, NULL, NULL));
  say("chroot", syscall(SYS_chroot, NULL));
  say("bpf", syscall(SYS_bpf, -1, NULL, 0));
  say("perf", syscall(SYS_perf_event_open, NULL, 0, 0, -1, 0));
  say("userfault", syscall(SYS_userfaultfd, -1));
  say("io-uring", syscall(SYS_io_uring_setup, 0, NULL));
  say("keys", syscall(SYS_keyctl, -1, 0, 0, 0, 0));
  say("handle", syscall(SYS_open_by_handle_at, -1, NULL, 0));
  say("module", syscall(SYS_finit_module, -1, NULL, -1));
  say("kexec", syscall(SYS_kexec_load, 0, 0, NULL, -1));
  say("clone3", syscall(SYS_clone3, NULL, 0));
}

static void readStatus(void) {
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, "Cap", 3) == 0 || strncmp(line, "NoNewPrivs", 10) == 0 || strncmp(line, "Seccomp:", 8) == 0) {
      printf("status %s", line);
    }
  }
  if (status != NULL) fclose(status);
  for (int fd = 3; fd < 64; fd++) {
    if (fcntl(fd, F_GETFD) >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) printf("open %d\n", fd);
  }
}

__attribute__((constructor)) static void tryEverything(void) {
  setvbuf(stdout, NULL, _IOLBF, 4096);
  // Inherited descriptors are examined before anything else is opened.
  readStatus();
  tryNetwork();
  tryFiles();
  tryProcesses();
  tryKernel();
  fflush(stdout);
  _exit(0);
}
