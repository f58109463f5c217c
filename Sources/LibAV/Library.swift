// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// Sets up libav, once per process.
enum Library {
    /// Turns off libav's own log, which would print URLs with their keys, and initializes libav's network code.
    static let prepared: Void = {
        av_log_set_level(AV_LOG_QUIET)
        avformat_network_init()
    }()

    /// Loads libavdevice and registers its devices. False if libavdevice is not installed.
    static let hasDevices = relay_load_devices() >= 0
}
