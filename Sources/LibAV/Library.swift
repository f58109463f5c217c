// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// What libav wants done once in a process.
enum Library {
    /// Registers the devices and silences libav's own log, which prints URLs with the keys in them.
    static let prepared: Void = {
        av_log_set_level(AV_LOG_QUIET)
        avdevice_register_all()
        avformat_network_init()
    }()
}
