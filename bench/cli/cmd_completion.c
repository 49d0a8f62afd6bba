/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench completion`: shell completions and the man page on standard
 * output, both made from the option table. */
#include <stdio.h>

#include "base/str.h"
#include "cli/session.h"

static int run(struct session *s)
{
    const char *shell = s->set.words[0];
    if (xl__streq(shell, "man")) {
        args_man(stdout);
        return EXIT_FINE;
    }
    if (args_completion(stdout, shell))
        return EXIT_FINE;
    fprintf(stderr, "clbench: no completion for that shell; there are bash, "
                    "zsh and fish\n");
    return EXIT_USAGE;
}

const struct command cmd_completion = {
    .name = "completion",
    .summary = "print the completion of a shell, or the man page",
    .words = "bash|zsh|fish|man",
    .about =
        "Prints what the shell needs to complete commands, options and their "
        "values; 'man' prints this manual as a man page.\n\n"
        "  bash:  source <(clbench completion bash)\n"
        "  zsh:   clbench completion zsh > ~/.zfunc/_clbench\n"
        "  fish:  clbench completion fish | source\n"
        "  man:   clbench completion man > clbench.1",
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
