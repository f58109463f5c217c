// SPDX-License-Identifier: Apache-2.0

package import Logging
internal import Media
internal import SourceClock

extension SourceClockEvent {
    /// Logs the event, which belongs to the input `name`. Some kinds of event are not logged.
    package func log(of name: String, by logger: Logger) {
        guard let (level, text) = line else { return }
        logger.log(level: level, "\(text)", metadata: ["input": "\(name)"])
    }

    private var line: (Logger.Level, String)? {
        switch self {
        case .placed(let buffer): (.info, "input is placed behind a buffer of \(buffer.inMilliseconds) ms")
        case .stepped(let distance) where distance < .zero:
            (.info, "input needs a smaller buffer, which moved by \(distance.inMilliseconds) ms")
        case .stepped(let distance):
            (.notice, "input came too late for its buffer, which moved by \(distance.inMilliseconds) ms")
        case .followed(let distance):
            (.info, "input waits \(distance.inMilliseconds) ms longer, as long as the others of its program")
        case .jumped(let track, let distance):
            (.notice, "the sender's \(track.rawValue) times jumped by \(distance.inMilliseconds) ms and were joined")
        case .jumpedAlone(let track):
            (.notice, "only the sender's \(track.rawValue) times jumped; audio and video stay as they were")
        case .joined(let track): (.notice, "\(track.rawValue) comes from the input, too")
        case .unrelated:
            (.notice, "audio and video of the input have no common clock; they are related by their arrival")
        case .silent(let track): (.warning, "no \(track.rawValue) comes from the input")
        case .resumed(let track): (.notice, "\(track.rawValue) comes from the input again")
        case .lost: (.warning, "nothing comes from the input")
        case .pathChanged, .late: nil
        }
    }
}
