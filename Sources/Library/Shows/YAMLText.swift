// SPDX-License-Identifier: Apache-2.0

/// Writes texts that people chose, such as the names of clips, sources and files, in YAML.
enum YAMLText {
    /// Returns `text` in double quotes (YAML 1.2.2, 7.3.1), so that every reader of YAML reads exactly `text`.
    static func quoted(_ text: String) -> String {
        let characters = text.unicodeScalars.map { scalar -> String in
            if scalar == "\"" || scalar == "\\" { return "\\\(scalar)" }
            guard isSpecial(scalar) else { return String(scalar) }
            let (escape, width) = scalar.value < 0x100 ? ("\\x", 2) : ("\\u", 4)
            let digits = String(scalar.value, radix: 16)
            return escape + String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\"\(characters.joined())\""
    }

    /// Returns `text` with a space for each line break and other special character, for use in a YAML comment, which
    /// ends at the end of its line.
    static func plain(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isSpecial($0) ? " " : $0 }))
    }

    /// Whether a reader of YAML refuses the character, or treats it as a line break, as readers of YAML 1.1 do with
    /// U+0085, U+2028 and U+2029.
    private static func isSpecial(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: scalar == "\u{FEFF}" || (0xFFFE...0xFFFF).contains(scalar.value)
        }
    }
}
