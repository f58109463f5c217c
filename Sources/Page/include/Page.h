// SPDX-License-Identifier: Apache-2.0
#ifndef RELAY_PAGE_H
#define RELAY_PAGE_H

#include <stddef.h>

// A file that the HTTP server hands out, compiled into the executable so that there is one thing to install.
struct relay_asset {
    const char *path;          // under which it is asked for, without the leading slash
    const char *type;          // the media type
    const unsigned char *bytes;
    size_t count;
};

// All of them, `count` in number.
const struct relay_asset *relay_assets(size_t *count);

#endif
