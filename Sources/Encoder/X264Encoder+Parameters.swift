// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import CX264
internal import Media

extension X264Encoder {
    /// Returns x264's parameters for `settings`. They meet the demands of streaming services: closed GOPs of a fixed
    /// length, no keyframes at scene cuts and, for a bitrate, a VBV of one second. They also make recordings easy to
    /// cut: the parameter sets are `stitchable`, so that a piece that is encoded later has the same SPS and PPS.
    static func parameters(_ settings: EncoderSettings, format: VideoFormat) throws(EncoderError) -> x264_param_t {
        var param = x264_param_t()
        guard x264_param_default_preset(&param, settings.preset.rawValue, settings.tune?.rawValue) == 0 else {
            throw EncoderError(operation: "choosing x264's preset \(settings.preset)", reason: "x264 does not know it")
        }
        param.i_width = Int32(format.width)
        param.i_height = Int32(format.height)
        param.i_csp = X264_CSP_I420
        param.i_bitdepth = 8
        param.i_fps_num = UInt32(format.frameRate.numerator)
        param.i_fps_den = UInt32(format.frameRate.denominator)
        param.i_timebase_num = UInt32(format.frameRate.denominator)
        param.i_timebase_den = UInt32(format.frameRate.numerator)
        param.b_vfr_input = 0
        param.b_annexb = 0
        param.b_repeat_headers = 0
        param.b_stitchable = 1
        param.i_bframe = Int32(settings.effectiveBFrames)
        if settings.isLive { setLiveThreads(&param) }
        setGOP(&param, settings: settings, format: format)
        setRate(&param, settings: settings)
        setUsability(&param, format: format)
        guard x264_param_apply_profile(&param, settings.profile.rawValue) == 0 else {
            throw EncoderError(
                operation: "applying H.264 profile \(settings.profile)", reason: "the other settings do not fit it")
        }
        return param
    }

    /// Sets one thread per core that the process may use, up to 16, and no look-ahead thread. With sliced threads, x264
    /// chooses the number of threads. By default x264 starts one and a half threads per core, and a look-ahead thread
    /// that holds frames of its own; these defaults aim for throughput. If a clock determines the program's speed, one
    /// thread per core is as good, and at 720p it saves 20 MB of memory and four frames of delay.
    private static func setLiveThreads(_ param: inout x264_param_t) {
        if param.b_sliced_threads == 0 { param.i_threads = min(relay_usable_cores(), 16) }
        param.i_sync_lookahead = 0
    }

    private static func setGOP(_ param: inout x264_param_t, settings: EncoderSettings, format: VideoFormat) {
        let frames = min(max(format.frameRate.frames(atLeast: settings.gop), 1), 100_000)
        param.i_keyint_max = Int32(frames)
        param.i_keyint_min = Int32(frames)
        param.i_scenecut_threshold = 0
        param.b_open_gop = 0
        param.b_intra_refresh = 0
    }

    private static func setRate(_ param: inout x264_param_t, settings: EncoderSettings) {
        switch settings.rateControl {
        case .bitrate(let bits):
            param.rc.i_rc_method = X264_RC_ABR
            param.rc.i_bitrate = Int32(clamping: bits / 1000)
            param.rc.i_vbv_max_bitrate = param.rc.i_bitrate
            param.rc.i_vbv_buffer_size = param.rc.i_bitrate
        case .quality(let factor):
            param.rc.i_rc_method = X264_RC_CRF
            param.rc.f_rf_constant = Float(factor)
        }
    }

    /// Sets the video usability information (ITU-T H.264, Annex E): the pixel aspect ratio and the color of `format`.
    private static func setUsability(_ param: inout x264_param_t, format: VideoFormat) {
        param.vui.i_sar_width = format.sampleAspectRatio.horizontal
        param.vui.i_sar_height = format.sampleAspectRatio.vertical
        param.vui.b_fullrange = format.color.isFullRange ? 1 : 0
        param.vui.i_colorprim = Int32(format.color.primaries)
        param.vui.i_transfer = Int32(format.color.transfer)
        param.vui.i_colmatrix = Int32(format.color.matrix)
    }
}
