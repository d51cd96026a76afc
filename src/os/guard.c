/* SPDX-License-Identifier: MIT */
/* The SIGBUS guard: a mapped file that shrinks or fails to read becomes a flag, not a crash.
 * Input: mappings with a flag each. Output: zero pages where bytes were lost, and the flag set.
 * Threads: add and remove from any; the handler runs in the thread that faulted.
 * Bounds: 256 mappings. A signal handler has no argument of ours: this table is the library's one
 * piece of mutable static state, and nothing touches it unless a program asks for the guard. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "os/os.h"

enum { GUARD_MAX = 256, GUARD_PAGE = 4096 };
enum slot_state { SLOT_FREE, SLOT_BUSY, SLOT_LIVE };
enum install_state { INSTALL_NONE, INSTALL_BUSY, INSTALL_DONE };

struct slot {
    _Atomic(int) state;
    uintptr_t start;
    size_t length;
    _Atomic(int) *flag;
};

static struct slot slots[GUARD_MAX];
static _Atomic(int) install_state;
static struct sigaction previous;

/* Maps zeros from the page at fault to the end of its mapping: after a truncation all of that is
 * lost anyway, and one mapping for each page could run into the kernel's limit of mappings. */
static bool cover(uintptr_t fault) {
    for (int i = 0; i < GUARD_MAX; i++) {
        struct slot *slot = &slots[i];
        if (atomic_load(&slot->state) != SLOT_LIVE) continue;
        if (fault < slot->start || fault - slot->start >= slot->length) continue;
        uintptr_t page = fault & ~(uintptr_t)(GUARD_PAGE - 1);
        size_t length = slot->length - (page - slot->start);
        void *at = (void *)page; /* NOLINT(performance-no-int-to-ptr) */
        void *zeros = mmap(at, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (zeros == MAP_FAILED) return false;
        atomic_store(slot->flag, 1);
        return true;
    }
    return false;
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    int kept = errno;
    bool covered = info->si_code > 0 && cover((uintptr_t)info->si_addr);
    errno = kept;
    if (covered) return;
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
    } else {
        /* Back to the default; the instruction faults again, or the signal is sent again, and ends
         * the process as it would have without us. */
        struct sigaction standard = {.sa_handler = SIG_DFL};
        sigaction(number, &standard, NULL);
        if (info->si_code <= 0) raise(number);
    }
}

power_status power_bus_guard_install(power_error *error) {
    int expected = INSTALL_NONE;
    if (!atomic_compare_exchange_strong(&install_state, &expected, INSTALL_BUSY)) {
        while (atomic_load(&install_state) == INSTALL_BUSY) {
            power_cpu_relax();
        }
        if (atomic_load(&install_state) == INSTALL_DONE) return POWER_OK;
        return power_fail(error, POWER_STATE, "the guard of mapped files could not be installed");
    }
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, NULL, &previous) != 0 || sigaction(SIGBUS, &action, NULL) != 0) {
        int sys_errno = errno;
        atomic_store(&install_state, INSTALL_NONE);
        return power_fail_errno(error, POWER_IO, sys_errno, "cannot install a SIGBUS handler");
    }
    atomic_store(&install_state, INSTALL_DONE);
    return POWER_OK;
}

bool power_bus_guard_installed(void) {
    return atomic_load(&install_state) == INSTALL_DONE;
}

power_status power_bus_guard_add(const struct power_mapping *mapping, _Atomic(int) *flag,
                                 power_error *error) {
    if (mapping->length == 0) return POWER_OK;
    for (int i = 0; i < GUARD_MAX; i++) {
        int expected = SLOT_FREE;
        if (!atomic_compare_exchange_strong(&slots[i].state, &expected, SLOT_BUSY)) continue;
        slots[i].start = (uintptr_t)mapping->bytes;
        slots[i].length = mapping->length;
        slots[i].flag = flag;
        atomic_store(&slots[i].state, SLOT_LIVE);
        return POWER_OK;
    }
    return power_fail(error, POWER_LIMIT, "%d mapped files are guarded already, the limit",
                      GUARD_MAX);
}

void power_bus_guard_remove(const struct power_mapping *mapping) {
    for (int i = 0; i < GUARD_MAX && mapping->length; i++) {
        if (atomic_load(&slots[i].state) != SLOT_LIVE) continue;
        if (slots[i].start != (uintptr_t)mapping->bytes) continue;
        atomic_store(&slots[i].state, SLOT_FREE);
        return;
    }
}
