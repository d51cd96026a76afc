/* SPDX-License-Identifier: MIT */
/* Threads, mutexes, condition variables, futexes over pthreads and Linux.
 * Input: an allocator, a function. Output: handles.
 * Threads: as named; a mutex or condition is destroyed when nobody uses it.
 * Bounds: none of its own. Library threads take no signals of the program but those of their own
 * faults, so that Ctrl-C and timers reach the threads that expect them. */
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"

enum { NAME_BYTES = 16 }; /* the kernel's limit, NUL included */

struct power_thread {
    const power_allocator *allocator;
    pthread_t handle;
    power_thread_fn fn;
    void *argument;
    char name[NAME_BYTES];
};

struct power_mutex {
    const power_allocator *allocator;
    pthread_mutex_t handle;
};

struct power_cond {
    const power_allocator *allocator;
    pthread_cond_t handle;
};

/* Failure of a lock operation is a broken invariant, not a condition to handle. */
static void must(int result) {
    assert(result == 0);
    (void)result;
}

static void *thread_main(void *argument) {
    struct power_thread *thread = argument;
    pthread_setname_np(pthread_self(), thread->name);
    thread->fn(thread->argument);
    return NULL;
}

static int start_masked(struct power_thread *thread) {
    sigset_t masked, kept;
    sigfillset(&masked);
    sigdelset(&masked, SIGBUS);
    sigdelset(&masked, SIGSEGV);
    sigdelset(&masked, SIGFPE);
    sigdelset(&masked, SIGILL);
    sigdelset(&masked, SIGABRT);
    int result = pthread_sigmask(SIG_SETMASK, &masked, &kept);
    if (result != 0) return result;
    result = pthread_create(&thread->handle, NULL, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    return result;
}

power_status power_thread_start(struct power_thread **out, const power_allocator *allocator,
                                const char *name, power_thread_fn fn, void *argument,
                                power_error *error) {
    struct power_thread *thread = power_alloc(allocator, 1, sizeof *thread);
    if (!thread) return power_fail_memory(error, sizeof *thread, "a thread");
    thread->allocator = allocator;
    thread->fn = fn;
    thread->argument = argument;
    snprintf(thread->name, sizeof thread->name, "%s", name);
    int result = start_masked(thread);
    if (result != 0) {
        power_release(allocator, thread, 1, sizeof *thread);
        return power_fail_errno(error, result == EAGAIN ? POWER_NO_MEMORY : POWER_IO, result,
                                "cannot start the thread \"%s\"", name);
    }
    *out = thread;
    return POWER_OK;
}

void power_thread_join(struct power_thread *thread) {
    if (!thread) return;
    must(pthread_join(thread->handle, NULL));
    power_release(thread->allocator, thread, 1, sizeof *thread);
}

power_status power_mutex_create(struct power_mutex **out, const power_allocator *allocator,
                                power_error *error) {
    struct power_mutex *mutex = power_alloc(allocator, 1, sizeof *mutex);
    if (!mutex) return power_fail_memory(error, sizeof *mutex, "a mutex");
    mutex->allocator = allocator;
    int result = pthread_mutex_init(&mutex->handle, NULL);
    if (result != 0) {
        power_release(allocator, mutex, 1, sizeof *mutex);
        return power_fail_errno(error, POWER_NO_MEMORY, result, "cannot make a mutex");
    }
    *out = mutex;
    return POWER_OK;
}

void power_mutex_destroy(struct power_mutex *mutex) {
    if (!mutex) return;
    must(pthread_mutex_destroy(&mutex->handle));
    power_release(mutex->allocator, mutex, 1, sizeof *mutex);
}

void power_mutex_lock(struct power_mutex *mutex) {
    must(pthread_mutex_lock(&mutex->handle));
}

void power_mutex_unlock(struct power_mutex *mutex) {
    must(pthread_mutex_unlock(&mutex->handle));
}

power_status power_cond_create(struct power_cond **out, const power_allocator *allocator,
                               power_error *error) {
    struct power_cond *cond = power_alloc(allocator, 1, sizeof *cond);
    if (!cond) return power_fail_memory(error, sizeof *cond, "a condition");
    cond->allocator = allocator;
    int result = pthread_cond_init(&cond->handle, NULL);
    if (result != 0) {
        power_release(allocator, cond, 1, sizeof *cond);
        return power_fail_errno(error, POWER_NO_MEMORY, result, "cannot make a condition");
    }
    *out = cond;
    return POWER_OK;
}

void power_cond_destroy(struct power_cond *cond) {
    if (!cond) return;
    must(pthread_cond_destroy(&cond->handle));
    power_release(cond->allocator, cond, 1, sizeof *cond);
}

void power_cond_wait(struct power_cond *cond, struct power_mutex *mutex) {
    must(pthread_cond_wait(&cond->handle, &mutex->handle));
}

void power_cond_signal(struct power_cond *cond) {
    must(pthread_cond_signal(&cond->handle));
}

void power_cond_broadcast(struct power_cond *cond) {
    must(pthread_cond_broadcast(&cond->handle));
}

void power_futex_wait(const void *word, uint32_t expected) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void power_futex_wake_all(const void *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void power_cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
