// SPDX-License-Identifier: Apache-2.0

/// The restriction of the values of one parameter, according to the description.
enum QueryRule: Equatable {
    case choice([String])
    case integer(ClosedRange<Int>)
    case number(ClosedRange<Double>)
    /// A text with at least this number of characters.
    case text(least: Int)

    /// Reads the rule from `schema`; nil if the schema allows every text. Patterns are ignored, because the patterns
    /// of times in the description match fewer times than the server accepts.
    init?(_ schema: APIDescription.Schema) {
        if let values = schema.values {
            self = .choice(values)
            return
        }
        switch schema.type {
        case "integer":
            let lower = schema.minimum.flatMap { Int(exactly: $0) } ?? .min
            self = .integer(lower...max(lower, schema.maximum.flatMap { Int(exactly: $0) } ?? .max))
        case "number":
            let lower = schema.minimum ?? -.greatestFiniteMagnitude
            self = .number(lower...max(lower, schema.maximum ?? .greatestFiniteMagnitude))
        case "string":
            guard let least = schema.minLength, least > 0 else { return nil }
            self = .text(least: least)
        default: return nil
        }
    }

    /// Whether `text` is an allowed value.
    func allows(_ text: String) -> Bool {
        switch self {
        case .choice(let values): values.contains(text)
        case .integer(let range): Int(text).map { range.contains($0) } ?? false
        case .number(let range): Double(text).map { range.contains($0) } ?? false
        case .text(let least): text.unicodeScalars.count >= least
        }
    }

    /// The bounds of `range` in words. A lower bound of `least`, or an upper bound of `greatest`, means that there
    /// is no bound.
    private static func words<Value: Comparable>(
        _ range: ClosedRange<Value>, _ least: Value, _ greatest: Value
    ) -> String {
        switch (range.lowerBound == least, range.upperBound == greatest) {
        case (false, false): " from \(range.lowerBound) to \(range.upperBound)"
        case (false, true): " of \(range.lowerBound) or more"
        case (true, false): " of \(range.upperBound) or less"
        case (true, true): ""
        }
    }

    /// The rule for the parameter `name` as a sentence.
    func sentence(_ name: String) -> String {
        switch self {
        case .choice(let values): "\(name) is one of \(values.joined(separator: ", "))."
        case .integer(let range): "\(name) is a whole number\(Self.words(range, .min, .max))."
        case .number(let range):
            "\(name) is a number\(Self.words(range, -.greatestFiniteMagnitude, .greatestFiniteMagnitude))."
        case .text(let least): "\(name) has \(least) or more characters."
        }
    }
}

/// The parameters of requests, as the API's description defines them.
struct APIDescription: Decodable {
    struct Schema: Decodable {
        let type: String?
        let values: [String]?
        let minimum: Double?
        let maximum: Double?
        let minLength: Int?

        private enum CodingKeys: String, CodingKey {
            case type, minimum, maximum, minLength
            case values = "enum"
        }
    }

    struct Parameter: Decodable {
        let name: String?
        let place: String?
        let schema: Schema?
        let reference: String?

        private enum CodingKeys: String, CodingKey {
            case name, schema
            case place = "in"
            case reference = "$ref"
        }
    }

    struct Operation: Decodable { let parameters: [Parameter]? }
    struct Components: Decodable { let parameters: [String: Parameter] }

    let paths: [String: [String: Operation]]
    let components: Components
}
