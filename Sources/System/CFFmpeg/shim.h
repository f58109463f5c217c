// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>
#include <stdbool.h>
#include <libavcodec/avcodec.h>
#include <libavdevice/avdevice.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavformat/avformat.h>
#include <libavutil/base64.h>
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/hmac.h>
#include <libavutil/imgutils.h>
#include <libavutil/md5.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libavutil/murmur3.h>
#include <libavutil/sha.h>
#include <libswresample/swresample.h>

// Macros with casts or compound literals are not imported into Swift.
static inline int relay_averror(int posix_error) { return AVERROR(posix_error); }
static const int relay_averror_eof = AVERROR_EOF;
static const int relay_averror_exit = AVERROR_EXIT;
static const int64_t relay_av_nopts = AV_NOPTS_VALUE;
static const int relay_averror_invalid_data = AVERROR_INVALIDDATA;
static const int relay_averror_decoder_not_found = AVERROR_DECODER_NOT_FOUND;

// The differences between FFmpeg 4.3 and 7.1 are handled here, so that the Swift code is the same for all versions.

// Channel layouts became a structure with FFmpeg 5.1 (libavutil 57.28).
#define RELAY_HAS_CHANNEL_LAYOUT (LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 28, 100))

static inline void relay_codec_context_set_channels(AVCodecContext *context, int channels) {
#if RELAY_HAS_CHANNEL_LAYOUT
    av_channel_layout_default(&context->ch_layout, channels);
#else
    context->channels = channels;
    context->channel_layout = (uint64_t)av_get_default_channel_layout(channels);
#endif
}

static inline void relay_parameters_set_channels(AVCodecParameters *parameters, int channels) {
#if RELAY_HAS_CHANNEL_LAYOUT
    av_channel_layout_default(&parameters->ch_layout, channels);
#else
    parameters->channels = channels;
    parameters->channel_layout = (uint64_t)av_get_default_channel_layout(channels);
#endif
}

static inline int relay_parameters_channels(const AVCodecParameters *parameters) {
#if RELAY_HAS_CHANNEL_LAYOUT
    return parameters->ch_layout.nb_channels;
#else
    return parameters->channels;
#endif
}

static inline int relay_frame_channels(const AVFrame *frame) {
#if RELAY_HAS_CHANNEL_LAYOUT
    return frame->ch_layout.nb_channels;
#else
    return frame->channels;
#endif
}

// Treats floating-point numbers as the integers with the same bits. Without the sign, a larger number is a larger
// integer, and infinities and NaN are greater than all other numbers. So one pass without branches finds the loudest
// sample.
typedef int32_t __attribute__((may_alias)) relay_float_bits;
typedef int64_t __attribute__((may_alias)) relay_double_bits;

static inline bool relay_exceeds_float(const uint8_t *data, int count, float bound) {
    const relay_float_bits *bits = (const relay_float_bits *)data;
    int32_t most = 0;
    for (int index = 0; index < count; index++) {
        int32_t value = bits[index] & INT32_MAX;
        most = value > most ? value : most;
    }
    return most > *(const relay_float_bits *)&bound;
}

static inline bool relay_exceeds_double(const uint8_t *data, int count, double bound) {
    const relay_double_bits *bits = (const relay_double_bits *)data;
    int64_t most = 0;
    for (int index = 0; index < count; index++) {
        int64_t value = bits[index] & INT64_MAX;
        most = value > most ? value : most;
    }
    return most > *(const relay_double_bits *)&bound;
}

// The value that replaces a sample which exceeds `bound`.
static inline double relay_repaired_sample(double sample, double bound) {
    return __builtin_isfinite(sample) ? __builtin_copysign(bound, sample) : 0;
}

// Limits samples to `bound`. Samples that are infinite or not a number become 0. Returns how many samples were changed,
// or a negative error. Integer samples are not changed.
static inline int relay_frame_repair_samples(AVFrame *frame, float bound) {
    int channels = relay_frame_channels(frame);
    bool is_planar = av_sample_fmt_is_planar((enum AVSampleFormat)frame->format);
    bool is_double = frame->format == AV_SAMPLE_FMT_DBL || frame->format == AV_SAMPLE_FMT_DBLP;
    if (!is_double && frame->format != AV_SAMPLE_FMT_FLT && frame->format != AV_SAMPLE_FMT_FLTP) return 0;
    int planes = is_planar ? channels : 1, count = frame->nb_samples * (is_planar ? 1 : channels);
    bool exceeds = false;
    for (int plane = 0; plane < planes; plane++) {
        const uint8_t *data = frame->extended_data[plane];
        exceeds |= is_double ? relay_exceeds_double(data, count, bound) : relay_exceeds_float(data, count, bound);
    }
    if (!exceeds) return 0;
    // The decoder may still use this memory for later frames.
    int error = av_frame_make_writable(frame), changed = 0;
    if (error < 0) return error;
    for (int plane = 0; plane < planes; plane++) {
        float *floats = (float *)frame->extended_data[plane];
        double *doubles = (double *)frame->extended_data[plane];
        for (int index = 0; index < count; index++) {
            double sample = is_double ? doubles[index] : floats[index];
            if (__builtin_fabs(sample) <= bound) continue;
            sample = relay_repaired_sample(sample, bound);
            if (is_double) doubles[index] = sample; else floats[index] = (float)sample;
            changed++;
        }
    }
    return changed;
}

// The channels, identified by name, as a bit mask; 0 if they have no names.
static inline uint64_t relay_frame_channel_mask(const AVFrame *frame) {
#if RELAY_HAS_CHANNEL_LAYOUT
    return frame->ch_layout.order == AV_CHANNEL_ORDER_NATIVE ? frame->ch_layout.u.mask : 0;
#else
    return frame->channel_layout;
#endif
}

static inline void relay_frame_set_channels(AVFrame *frame, int channels) {
#if RELAY_HAS_CHANNEL_LAYOUT
    av_channel_layout_default(&frame->ch_layout, channels);
#else
    frame->channels = channels;
    frame->channel_layout = (uint64_t)av_get_default_channel_layout(channels);
#endif
}

// Creates a resampler to planar float. `mask` names the input's channels. If it is 0, or names another number of
// channels, the channels are assumed to be in the usual order.
static inline int relay_swr_alloc(
    SwrContext **context, int output_channels, int output_rate, uint64_t mask, int channels, int format, int rate) {
#if RELAY_HAS_CHANNEL_LAYOUT
    AVChannelLayout input = {0}, output = {0};
    if (mask == 0 || av_channel_layout_from_mask(&input, mask) < 0 || input.nb_channels != channels) {
        av_channel_layout_uninit(&input);
        av_channel_layout_default(&input, channels);
    }
    av_channel_layout_default(&output, output_channels);
    int result = swr_alloc_set_opts2(
        context, &output, AV_SAMPLE_FMT_FLTP, output_rate, &input, (enum AVSampleFormat)format, rate, 0, NULL);
    av_channel_layout_uninit(&input);
    av_channel_layout_uninit(&output);
    return result;
#else
    if (mask == 0 || av_get_channel_layout_nb_channels(mask) != channels)
        mask = (uint64_t)av_get_default_channel_layout(channels);
    *context = swr_alloc_set_opts(
        *context, av_get_default_channel_layout(output_channels), AV_SAMPLE_FMT_FLTP, output_rate, (int64_t)mask,
        (enum AVSampleFormat)format, rate, 0, NULL);
    return *context ? 0 : AVERROR(ENOMEM);
#endif
}

// Pointers to input formats have been const since FFmpeg 5.0 (libavformat 59).
static inline const AVInputFormat *relay_find_input_format(const char *name) { return av_find_input_format(name); }

static inline int relay_open_input(
    AVFormatContext **context, const char *url, const AVInputFormat *format, AVDictionary **options) {
#if LIBAVFORMAT_VERSION_MAJOR >= 59
    return avformat_open_input(context, url, format, options);
#else
    return avformat_open_input(context, url, (AVInputFormat *)format, options);
#endif
}

// The pointer to the bytes to be written has been const since FFmpeg 7.0 (libavformat 61).
typedef int (*relay_write_function)(void *opaque, const uint8_t *bytes, int count);

static inline AVIOContext *relay_avio_writer(uint8_t *buffer, int size, void *opaque, relay_write_function write) {
#if LIBAVFORMAT_VERSION_MAJOR >= 61
    return avio_alloc_context(buffer, size, 1, opaque, NULL, write, NULL);
#else
    return avio_alloc_context(buffer, size, 1, opaque, NULL, (int (*)(void *, uint8_t *, int))write, NULL);
#endif
}

// A stream's display matrix, which consists of nine 32-bit numbers, or NULL. It moved to the codec parameters in FFmpeg
// 6.1.
static inline const uint8_t *relay_display_matrix(const AVStream *stream) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 30, 100)
    const AVPacketSideData *data = av_packet_side_data_get(
        stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
    return data && data->size >= 36 ? data->data : NULL;
#elif LIBAVFORMAT_VERSION_MAJOR >= 59
    size_t size = 0;
    const uint8_t *data = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return size >= 36 ? data : NULL;
#else
    int size = 0;
    const uint8_t *data = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return size >= 36 ? data : NULL;
#endif
}

// The demuxer's index of the positions of a stream's packets. Since FFmpeg 5.0 it is accessible by functions only. The
// bit fields of an entry cannot be imported into Swift on every platform.
static inline int relay_index_count(const AVStream *stream) {
#if LIBAVFORMAT_VERSION_MAJOR >= 59
    return avformat_index_get_entries_count(stream);
#else
    return stream->nb_index_entries;
#endif
}

static inline bool relay_index_entry(
    AVStream *stream, int number, int64_t *position, int64_t *time, int *size, int *flags) {
#if LIBAVFORMAT_VERSION_MAJOR >= 59
    const AVIndexEntry *entry = avformat_index_get_entry(stream, number);
#else
    const AVIndexEntry *entry = number >= 0 && number < stream->nb_index_entries ? &stream->index_entries[number] : NULL;
#endif
    if (!entry) return false;
    *position = entry->pos;
    *time = entry->timestamp;
    *size = entry->size;
    *flags = entry->flags;
    return true;
}

// Side data of a packet, or NULL. Its length is an int before FFmpeg 5, and a size_t since then.
static inline const uint8_t *relay_packet_side_data(const AVPacket *packet, enum AVPacketSideDataType type, int *count) {
#if LIBAVCODEC_VERSION_MAJOR >= 59
    size_t size = 0;
#else
    int size = 0;
#endif
    const uint8_t *data = av_packet_get_side_data(packet, type, &size);
    *count = (int)size;
    return data;
}

// Interlacing has been a flag since FFmpeg 6.1 (libavutil 58.7).
static inline int relay_frame_is_interlaced(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
    return (frame->flags & AV_FRAME_FLAG_INTERLACED) != 0;
#else
    return frame->interlaced_frame;
#endif
}

// Profiles were renamed in FFmpeg 6.1 (libavcodec 60.29).
#ifdef AV_PROFILE_AAC_LOW
static const int relay_profile_aac_low = AV_PROFILE_AAC_LOW;
#else
static const int relay_profile_aac_low = FF_PROFILE_AAC_LOW;
#endif

// The length is an int before FFmpeg 5, and a size_t since then.
static inline void relay_md5(uint8_t *digest, const uint8_t *bytes, size_t count) { av_md5_sum(digest, bytes, count); }

static inline void relay_sha_update(struct AVSHA *context, const uint8_t *bytes, size_t count) {
    av_sha_update(context, bytes, count);
}

static inline void relay_murmur3_update(struct AVMurMur3 *context, const uint8_t *bytes, size_t count) {
    av_murmur3_update(context, bytes, count);
}

// libavfilter and libavdevice are not linked, but loaded when they are first needed. Together with the 80 libraries on
// which they depend, they take 17 MB of resident memory, and most programs never use them.

// Registers the devices. Returns a negative number if libavdevice is not installed.
static inline int relay_load_devices(void) {
    void *library = dlopen("libavdevice.so." AV_STRINGIFY(LIBAVDEVICE_VERSION_MAJOR), RTLD_NOW);
    __typeof__(&avdevice_register_all) register_all =
        library ? (__typeof__(register_all))dlsym(library, "avdevice_register_all") : NULL;
    if (!register_all) return AVERROR(ELIBACC);
    register_all();
    return 0;
}

// The functions of libavfilter that relay calls.
typedef struct relay_avfilter {
    __typeof__(&avfilter_graph_alloc) _Nonnull graph_alloc;
    __typeof__(&avfilter_graph_free) _Nonnull graph_free;
    __typeof__(&avfilter_graph_create_filter) _Nonnull graph_create_filter;
    __typeof__(&avfilter_graph_parse_ptr) _Nonnull graph_parse_ptr;
    __typeof__(&avfilter_graph_config) _Nonnull graph_config;
    __typeof__(&avfilter_get_by_name) _Nonnull get_by_name;
    __typeof__(&avfilter_inout_alloc) _Nonnull inout_alloc;
    __typeof__(&avfilter_inout_free) _Nonnull inout_free;
    __typeof__(&av_buffersrc_add_frame_flags) _Nonnull buffersrc_add_frame_flags;
    __typeof__(&av_buffersink_get_frame) _Nonnull buffersink_get_frame;
    __typeof__(&av_buffersink_get_time_base) _Nonnull buffersink_get_time_base;
} relay_avfilter;

// Fills all of `functions`. Returns a negative number if libavfilter is not installed. Loading it again costs nothing.
static inline int relay_load_avfilter(relay_avfilter *functions) {
    void *library = dlopen("libavfilter.so." AV_STRINGIFY(LIBAVFILTER_VERSION_MAJOR), RTLD_NOW);
    if (!library) return AVERROR(ELIBACC);
#define RELAY_FIND(field, name) \
    if (!(functions->field = (__typeof__(functions->field))dlsym(library, #name))) return AVERROR(ELIBACC)
    RELAY_FIND(graph_alloc, avfilter_graph_alloc);
    RELAY_FIND(graph_free, avfilter_graph_free);
    RELAY_FIND(graph_create_filter, avfilter_graph_create_filter);
    RELAY_FIND(graph_parse_ptr, avfilter_graph_parse_ptr);
    RELAY_FIND(graph_config, avfilter_graph_config);
    RELAY_FIND(get_by_name, avfilter_get_by_name);
    RELAY_FIND(inout_alloc, avfilter_inout_alloc);
    RELAY_FIND(inout_free, avfilter_inout_free);
    RELAY_FIND(buffersrc_add_frame_flags, av_buffersrc_add_frame_flags);
    RELAY_FIND(buffersink_get_frame, av_buffersink_get_frame);
    RELAY_FIND(buffersink_get_time_base, av_buffersink_get_time_base);
#undef RELAY_FIND
    return 0;
}
