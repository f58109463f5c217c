// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media
internal import SourceClock

/// Decodes a live source's audio, and places it in the program by its timestamps. The audio is resampled to compensate
/// for the difference between the sender's clock and the program's. Used by one thread.
final class LiveAudioTrack {
    let decoder: TrackDecoder
    private let resampler: Resampler
    private let format: AudioFormat
    private let timing: SourceTiming
    private let sink: any SourceSink
    private let monitor: SourceMonitor
    private var servo: AudioServo
    private var placement = 0
    /// The program position, in samples, at which the audio ends that was reported to the servo. The next run of
    /// samples begins there.
    private var end: Int64?
    /// The end of the last run of audio samples, on the source's timeline. A run without a timestamp begins there.
    private var lastTime: Timestamp?
    /// Whether the track will deliver no more audio.
    private(set) var isFinished = false

    init(
        _ decoder: TrackDecoder, format: AudioFormat, channels: [Int]?, timing: SourceTiming, sink: any SourceSink,
        monitor: SourceMonitor, subject: String
    ) {
        self.decoder = decoder
        self.format = format
        self.timing = timing
        self.sink = sink
        self.monitor = monitor
        resampler = Resampler(target: format, subject: subject, compensates: true, channels: channels)
        servo = AudioServo(sampleRate: format.sampleRate)
    }

    /// Decodes one run of audio samples and delivers it. Must be called only after the program has begun.
    func step(inputEnded: Bool) -> TrackDecoder.Progress {
        let output = decoder.next(inputEnded: inputEnded)
        do throws(AVFailure) {
            switch output {
            case .needsPacket: return .needsPacket
            case .failed(let failure): return .failed(failure)
            case .ended:
                isFinished = true
                deliver(try resampler.flush())
                return .ended
            case .frame(let frame): try take(frame)
            }
        } catch {
            // The run of samples that could not be converted is lost, and the next run must be placed by its timestamp.
            servo.restart()
            resampler.start(at: 0)
            monitor.noteConversionFailure(error)
        }
        return .advanced
    }

    private func take(_ frame: DecodedFrame) throws(AVFailure) {
        guard frame.sampleRate > 0, let rate = Int32(exactly: frame.sampleRate) else { return }
        let stated = decoder.time(of: frame).map { Timestamp($0, in: decoder.stream.timeBase) }
        guard let time = stated ?? lastTime else { return }
        let duration = TimeBase(1, rate).duration(Int64(frame.sampleCount))
        lastTime = time + duration
        guard let place = timing.placeAudio(time), let line = sink.programTime.line else { return }
        if place.placement != placement {
            placement = place.placement
            servo.restart()
        }
        try follow(place, line, time: time, duration: duration)
        let audio = try resampler.convert(frame)
        note()
        deliver(audio)
    }

    /// Sets up the resampler so that the first sample of the next run is placed where the servo requires.
    private func follow(
        _ place: SourceTiming.AudioPlace, _ line: ProgramClockLine, time: Timestamp, duration: Duration
    ) throws(AVFailure) {
        let isFirst = servo.position == nil
        let correction = servo.correct(
            time: time, duration: duration, target: line.image(of: place.due), stretch: place.stretch + line.rate,
            step: place.step)
        resampler.compensate(by: correction.stretch)
        let offset = servo.error / 1e9
        monitor.update { $0.audioOffsetSeconds = offset }
        guard isFirst || correction.fill != 0 || place.step != .zero, let position = servo.position else { return }
        if !isFirst {
            deliver(try resampler.flush())
            if place.step != .zero { sink.moveAudio(by: format.timeBase.ticks(place.step)) }
        }
        servo.note(made: correction.fill)
        let start = TimeBase.nanoseconds.rescale(position.nanoseconds, to: format.timeBase) + correction.fill
        resampler.start(at: start)
        end = start
    }

    /// Reports to the servo how much audio was produced: the samples that the resampler has output, and those that its
    /// filter still retains.
    private func note() {
        let now = resampler.position + resampler.pending
        servo.note(made: now - (end ?? now))
        end = now
    }

    private func deliver(_ audio: AudioBuffer) {
        if audio.count > 0 { sink.deliver(audio) }
    }
}
