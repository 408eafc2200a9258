/* An interrupt during a build ends it as a failure would: its processes are killed, its directory is removed, what was
 * asked of the store is given back. Then the command ends by the signal, as its caller expects. A second one ends it at
 * once. Outside of builds a signal does what it always does: a kernel that never ends must not keep it waiting. */
#include "cli.h"

#include <signal.h>
#include <stddef.h>

static slw_cancel *token;
static volatile sig_atomic_t caught; /* the signal; 0: none */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];

static void on_signal(int number) {
    caught = number;
    slw_cancel_request(token);
}

slw_cancel *cli_interrupt_token(void) {
    slw_error err = SLW_ERROR_INIT;
    /* Without memory for it a signal ends the command as it always did. */
    if (token == NULL && slw_cancel_create(NULL, &token, &err) != SLW_OK) token = NULL;
    return token;
}

void cli_interrupt_begin(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    if (cli_interrupt_token() == NULL) return;
    (void)sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++) {
        if (sigaction(signals[i], NULL, &before[i]) != 0 || before[i].sa_handler == SIG_IGN) continue;
        (void)sigaction(signals[i], &action, NULL);
    }
}

void cli_interrupt_end(void) {
    if (token == NULL) return;
    for (int i = 0; i < SIGNALS; i++) (void)sigaction(signals[i], &before[i], NULL);
}

int cli_interrupted(void) {
    return caught != 0;
}

void cli_interrupt_obey(void) {
    slw_cancel_release(&token);
    if (caught == 0) return;
    (void)signal(caught, SIG_DFL);
    (void)raise(caught);
}
