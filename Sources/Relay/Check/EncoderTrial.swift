// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Channel
internal import Dispatch
internal import Encoder
internal import FanOut
internal import Glibc
internal import Ingest
internal import Logging
internal import Media

/// Encodes a few seconds of the test pattern with the settings of a channel, and measures how much processor time it
/// takes.
struct EncoderTrial {
    private static let length = Duration.seconds(3)

    /// The preset and the format of the trial, such as `veryfast at 1920x1080, 50 fps`.
    let subject: String
    /// The number of cores that encoding in real time needs: processor time of the process divided by program time.
    let cores: Double
    /// The number of processor cores that this process may use. `taskset` and `cpuset` limit it.
    static var available: Int { Int(relay_usable_cores()) }

    /// Runs the trial. Blocks for as long as the machine needs to encode 3 s of program. Frame size and frame rate come
    /// from the configuration, or from the test pattern if they depend on the input. With a `rendition`, its settings
    /// and frame size are used. Throws ``ChannelFailure``.
    init(
        _ configuration: ChannelConfiguration, as rendition: RenditionSpecification? = nil, resources: HostResources,
        logger: Logger
    ) throws(ChannelFailure) {
        var trial = configuration
        if let rendition {
            trial.encoder = rendition.settings(beside: configuration.encoder)
            trial.size = rendition.frameSize(beside: configuration.size)
        }
        trial.renditions = []
        (trial.sources, trial.overlays) = ([ChannelConfiguration.Source(input: InputLocation("test:"))], [])
        (trial.slate, trial.audioInput, trial.certificate) = (nil, nil, nil)
        (trial.runDown, trial.runDownDirectory) = (nil, nil)
        (trial.outputs, trial.recording, trial.copying) = ([], nil, .nothing)
        (trial.isPaced, trial.duration) = (false, Self.length)
        let hub = PacketStream()
        let listening = try ChannelListening(trial, resources: resources, opening: ChannelOpening(), logger: logger)
        let program = try EncodedProgram(
            trial, into: hub, recordings: ChannelRecordings(hub: hub, group: DispatchGroup()), listening: listening,
            clock: resources.clock, logger: logger)
        let format = program.description.video?.frameFormat
        let rate = program.description.video?.nominalRate ?? FrameRate(25)
        let before = Self.processorSeconds
        if case .failed(let cause) = program.run() {
            throw ChannelFailure(cause, .openEncoder(), saying: "The encoder ended before the trial was over.")
        }
        cores = (Self.processorSeconds - before) / Self.length.inSeconds
        let size = format.map { "\($0.width)x\($0.height), " } ?? ""
        subject = "\(trial.encoder.preset) at \(size)\(ChannelCheck.hundredths(rate.value)) fps"
    }

    /// The processor time that this process has used so far, in seconds.
    static var processorSeconds: Double {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        let seconds = { (time: timeval) in Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
