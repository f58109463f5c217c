// SPDX-License-Identifier: Apache-2.0

internal import CX264

/// The settings that affect the parameter sets, read from x264's own text (`x264_param2string`).
struct X264SettingsText {
    private var values: [Substring: Int32] = [:]

    /// Parses `text`; nil if x264 did not write it.
    init?(_ text: String) {
        for word in text.split(separator: " ") {
            let pair = word.split(separator: "=", maxSplits: 1)
            if pair.count == 2, let value = Int32(pair[1]) { values[pair[0]] = value }
        }
        guard values["ref"] != nil, values["bframes"] != nil, values["keyint"] != nil else { return nil }
    }

    func apply(to param: inout x264_param_t) {
        func set(_ name: Substring, _ body: (Int32) -> Void) {
            if let value = values[name] { body(value) }
        }
        set("ref") { param.i_frame_reference = min(max($0, 1), 16) }
        set("bframes") { param.i_bframe = min(max($0, 0), 16) }
        set("b_pyramid") { param.i_bframe_pyramid = $0 }
        set("weightb") { param.analyse.b_weighted_bipred = $0 }
        param.analyse.i_weighted_pred = values["weightp"] ?? 0
        set("8x8dct") { param.analyse.b_transform_8x8 = $0 }
        set("cabac") { param.b_cabac = $0 }
        set("keyint") { param.i_keyint_max = max($0, 1) }
        set("keyint_min") { param.i_keyint_min = $0 }
        // x264 adds its psychovisual adjustment to the offset, and the text contains the sum.
        param.analyse.b_psy = 0
        set("chroma_qp_offset") { param.analyse.i_chroma_qp_offset = $0 }
    }
}
