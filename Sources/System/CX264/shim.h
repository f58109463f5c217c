// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <x264.h>

// The name of x264's threads, which may have at most 15 characters.
#define RELAY_X264_THREAD "relay.x264"

// x264_encoder_open is a macro that contains the build number, and Swift does not import it. A new thread gets the name
// of the thread that creates it (clone(2) copies the name), so x264's threads can be distinguished from others by their
// name.
static inline x264_t *relay_x264_encoder_open(x264_param_t *param) {
    char name[16] = "";
    prctl(PR_GET_NAME, name, 0, 0, 0);
    prctl(PR_SET_NAME, RELAY_X264_THREAD, 0, 0, 0);
    x264_t *encoder = x264_encoder_open(param);
    prctl(PR_SET_NAME, name, 0, 0, 0);
    return encoder;
}

/// The last warning or error that x264 printed, for the error we throw.
typedef struct relay_x264_log {
    char text[512];
} relay_x264_log;

// x264's log callback gets a va_list, which a Swift closure cannot format safely.
static inline void relay_x264_log_line(void *context, int level, const char *format, va_list arguments) {
    relay_x264_log *log = (relay_x264_log *)context;
    if (log == NULL || level > X264_LOG_WARNING) return;
    vsnprintf(log->text, sizeof log->text, format, arguments);
}

static inline void relay_x264_capture_log(x264_param_t *param, relay_x264_log *log) {
    param->pf_log = relay_x264_log_line;
    param->p_log_private = log;
    param->i_log_level = X264_LOG_WARNING;
}
