// SPDX-License-Identifier: Apache-2.0

package import Media

extension ColorDescription {
    /// Whether the color is HDR: PQ or HLG (ITU-T H.273, table 3).
    package var isHDR: Bool { transfer == 16 || transfer == 18 }
}

/// Converts HDR for screens without HDR.
package enum ToneMapping {
    /// Whether this machine's libavfilter has the necessary filters. The first call loads it.
    package static let isPossible = FilterGraph.has(["setparams", "zscale", "tonemap"])

    /// The filters that convert frames of `source` to limited-range BT.709; empty if `target` is HDR too, or if
    /// `source` is not HDR.
    static func filters(from source: ColorDescription, to target: ColorDescription) -> [String] {
        guard source.isHDR, !target.isHDR else { return [] }
        return [
            // Frames may lack the tags that their container has.
            "setparams=color_primaries=\(source.primaries):color_trc=\(source.transfer):colorspace=\(source.matrix)"
                + ":range=\(source.isFullRange ? "pc" : "tv")",
            "zscale=t=linear:npl=100", "format=gbrpf32le", "zscale=p=bt709", "tonemap=hable",
            "zscale=t=bt709:m=bt709:r=tv", "format=yuv420p",
        ]
    }
}
