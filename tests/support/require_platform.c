/* SPDX-License-Identifier: Apache-2.0 */
/* Exits with 0 when the loader shows the platform named by XL_TEST_PLATFORM
 * with a device on which a queue can be created. Test jobs that name a driver
 * must fail, not be skipped, without it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/crosslane.h>

static int try_device(xl_lib *lib, const char *wanted)
{
    xl_device *device = xl_device_at(lib, 0);
    xl_queue *queue = NULL;
    xl_fact platform, name;

    if (xl_device_fact(device, "platform", XL_UNKNOWN, &platform) != XL_OK ||
        xl_device_fact(device, "name", XL_UNKNOWN, &name) != XL_OK)
        return EXIT_FAILURE;
    printf("device 0: %s, %s\n", platform.text ? platform.text : "?",
           name.text ? name.text : "?");
    if (!platform.text || !strstr(platform.text, wanted)) {
        printf("this is not \"%s\"\n", wanted);
        return EXIT_FAILURE;
    }
    if (xl_queue_create(lib, device, &queue) != XL_OK) {
        printf("no queue: %s\n", xl_lib_error(lib));
        return EXIT_FAILURE;
    }
    xl_queue_destroy(queue);
    return EXIT_SUCCESS;
}

int main(void)
{
    const char *wanted = getenv("XL_TEST_PLATFORM");
    xl_lib *lib = NULL;
    unsigned n = 0;
    int result = EXIT_FAILURE;

    if (!wanted || xl_open(NULL, &lib) != XL_OK)
        return EXIT_FAILURE;
    if (xl_device_count(lib, &n) != XL_OK)
        printf("no device of \"%s\": %s\n", wanted, xl_lib_error(lib));
    else
        result = try_device(lib, wanted);
    xl_close(lib);
    return result;
}
