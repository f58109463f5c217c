// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Ingest
internal import Logging
internal import Media
internal import Networking
internal import Program

extension ChannelCheck {
    /// The cost of decoding all sources that answer and of composing the scene with the largest number of them. `cores`
    /// is what the encoder needs, and is added. Nil if there is only one source.
    func sources(_ answered: Set<String>, beside cores: Double?) -> Row? {
        let tried = configuration.sources.filter { answered.contains($0.name) && $0.input.rtmpListenAddress == nil }
        guard configuration.sources.count > 1, !tried.isEmpty else { return nil }
        var trial = SourcesTrial(configuration, clock: resources.clock, logger: logger)
        for source in tried {
            let before = trial
            let after = Answer.of("relay.check", within: Self.longest) {
                var trial = before
                trial.decode(source)
                return trial
            }
            if let after { trial = after }
        }
        return within("sources") { [trial] in row(of: trial, beside: cores ?? 0) }
    }

    private func row(of trial: SourcesTrial, beside encoder: Double) -> Row {
        guard !trial.decoded.isEmpty else { return row("sources", .warning, "none of them delivered a frame") }
        let layout = trial.heaviest
        let composing = layout.map { trial.cores(for: $0) } ?? 0
        let needed = trial.decoded.reduce(composing) { $0 + $1.cores }
        let each = trial.decoded.map { "\($0.name) \(Self.hundredths($0.cores))" }.joined(separator: ", ")
        let missing = configuration.sources.count - trial.decoded.count
        let isEnough = needed + encoder < Double(EncoderTrial.available) * Self.share
        return row(
            "sources", isEnough ? .ok : .warning,
            "\(trial.subject)\(layout.map { " with \($0.layout.rawValue)" } ?? "") need "
                + "\(Self.hundredths(needed)) of \(EncoderTrial.available) cores, with the encoder "
                + "\(Self.hundredths(needed + encoder)) (\(each))"
                + (missing > 0 ? "; \(missing) could not be tried" : ""))
    }
}
