// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <libavcodec/avcodec.h>
#include <libavdevice/avdevice.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>

// Macros with casts or compound literals are not imported into Swift.
static inline int relay_averror(int posix_error) { return AVERROR(posix_error); }
static const int relay_averror_eof = AVERROR_EOF;
static const int relay_averror_exit = AVERROR_EXIT;
static const int64_t relay_av_nopts = AV_NOPTS_VALUE;
static const int relay_averror_invalid_data = AVERROR_INVALIDDATA;
static const int relay_averror_decoder_not_found = AVERROR_DECODER_NOT_FOUND;
