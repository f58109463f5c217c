// SPDX-License-Identifier: Apache-2.0

package import Media

extension ColorDescription {
    /// Whether it is of high dynamic range: PQ or HLG (ITU-T H.273, table 3).
    package var isHDR: Bool { transfer == 16 || transfer == 18 }
}

/// Converts high dynamic range for screens that do not show it.
package enum ToneMapping {
    /// Whether this machine's libavfilter has what it takes. Loads it when it is asked first.
    package static let isPossible = FilterGraph.has(["setparams", "zscale", "tonemap"])

    /// The filters that convert frames of `source` to BT.709 in limited range; empty if `target` is of high dynamic
    /// range, too, or `source` is not.
    static func filters(from source: ColorDescription, to target: ColorDescription) -> [String] {
        guard source.isHDR, !target.isHDR else { return [] }
        return [
            // Frames may lack what their container says.
            "setparams=color_primaries=\(source.primaries):color_trc=\(source.transfer):colorspace=\(source.matrix)"
                + ":range=\(source.isFullRange ? "pc" : "tv")",
            "zscale=t=linear:npl=100", "format=gbrpf32le", "zscale=p=bt709", "tonemap=hable",
            "zscale=t=bt709:m=bt709:r=tv", "format=yuv420p",
        ]
    }
}
