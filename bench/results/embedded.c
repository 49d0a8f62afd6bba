/* SPDX-License-Identifier: Apache-2.0 */
#include "results/embedded.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/files.h"

static const struct embedded *find_text(const struct embedded *all,
                                        const char *name)
{
    const size_t len = strlen(name);
    for (const struct embedded *t = all; t->name; t++)
        if (strncmp(t->name, name, len) == 0 && t->name[len] == '.')
            return t;
    return NULL;
}

static bool report_no_text(const struct embedded *all, const char *what,
                           const char *list_command, const char *name,
                           struct xl__str *why)
{
    xl__str_printf(why, "no %s '%s' comes with clbench;\nmust be one of", what,
                   name);
    if (list_command)
        xl__str_printf(why, " those of '%s'", list_command);
    for (const struct embedded *t = all; !list_command && t->name; t++)
        xl__str_printf(why, " %.*s", (int)strcspn(t->name, "."), t->name);
    xl__str_printf(why, ",\nor a path such as './%s'", name);
    return false;
}

bool embedded_read(const struct embedded *all, const char *what,
                   const char *list_command, const char *name, char **text,
                   struct xl__str *why)
{
    size_t len = 0;
    *text = NULL;
    if (!strpbrk(name, "./\\")) {
        const struct embedded *t = find_text(all, name);
        if (!t)
            return report_no_text(all, what, list_command, name, why);
        *text = xl__calloc(t->len + 1, 1);
        if (*text)
            memcpy(*text, t->text, t->len);
        else
            xl__str_add(why, "out of memory");
        return *text != NULL;
    }
    errno = 0;
    if (xl__file_read(name, text, &len) != XL_OK) {
        xl__str_printf(why, "'%s' cannot be read: %s", name,
                       errno ? strerror(errno) : "out of memory");
        return false;
    }
    const size_t zero = strlen(*text);
    unsigned line = 1;
    for (size_t i = 0; i < zero; i++)
        line += (*text)[i] == '\n';
    if (zero < len)
        xl__str_printf(why, "'%s' is no %s: line %u has a byte 0", name, what,
                       line);
    return zero == len;
}
