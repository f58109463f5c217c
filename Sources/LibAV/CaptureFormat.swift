// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// The formats in which capture devices deliver frames.
package enum CaptureFormat {
    /// libavformat's names of the formats that V4L2 names by four characters (linux/videodev2.h).
    private static let names = [
        "mjpg": "mjpeg", "jpeg": "mjpeg", "yuyv": "yuyv422", "uyvy": "uyvy422", "yvyu": "yvyu422", "yu12": "yuv420p",
        "422p": "yuv422p", "rgb3": "rgb24", "bgr3": "bgr24", "grey": "gray", "h265": "hevc",
    ]

    /// libavformat's name of `format`, which is written as `relay devices` or libavformat writes it; nil if it is
    /// neither a pixel format nor a codec.
    package static func name(of format: String) -> String? {
        let lower = format.lowercased()
        let name = names[lower] ?? lower
        let isKnown = av_get_pix_fmt(name) != AV_PIX_FMT_NONE || avcodec_descriptor_get_by_name(name) != nil
        return isKnown ? name : nil
    }
}
