// SPDX-License-Identifier: Apache-2.0

internal import CX264
internal import Dispatch
internal import Glibc
internal import Media

/// Owns one x264 session, and frees it in `deinit`. Only one thread at a time may use it.
///
/// Input times are frame numbers, so x264's ticks are frames, and its decoding times are exact.
final class X264Encoder: VideoCoding {
    private let handle: OpaquePointer
    // The buffer for x264's messages. x264 keeps its address for the life of the session, so the buffer is allocated
    // before the session is opened, and freed after the session is closed.
    private let log: UnsafeMutablePointer<relay_x264_log>

    private var captions = CaptionQueue()

    /// The description to which the packets refer: size, color, rate and parameter sets.
    let description: TrackDescription
    /// Number of frames that the session holds before its first output.
    let delay: Int
    /// The threads that x264 has created for the session.
    let threads: EncoderThreads
    /// Number of frames, or slices of one frame, that x264 encodes in parallel.
    let parallelism: Int
    private let width: Int
    private(set) var isBroken = false

    /// Opens a session; throws if x264 refuses. If the parameter sets of the description `before` equal the session's,
    /// the session's packets refer to `before`.
    convenience init(
        settings: EncoderSettings, format: VideoFormat, like before: TrackDescription? = nil
    ) throws(EncoderError) {
        let bitrate = if case .bitrate(let bits) = settings.rateControl { bits } else { 0 }
        try self.init(
            parameters: X264Encoder.parameters(settings, format: format), format: format, bitrate: bitrate,
            like: before)
    }

    /// Opens a session with these parameters; throws if x264 refuses. `bitrate` is the bitrate in the description, in
    /// bits per second; 0 means unknown.
    init(
        parameters: x264_param_t, format: VideoFormat, bitrate: Int = 0, like before: TrackDescription? = nil
    ) throws(EncoderError) {
        var param = parameters
        let log = UnsafeMutablePointer<relay_x264_log>.allocate(capacity: 1)
        log.initialize(to: relay_x264_log())
        relay_x264_capture_log(&param, log)
        var opened: OpaquePointer?
        let threads = EncoderThreads.made { opened = relay_x264_encoder_open(&param) }
        guard let handle = opened else {
            let said = Self.text(log)
            log.deallocate()
            throw EncoderError(
                operation: "opening x264 for \(format.width)x\(format.height) at \(format.frameRate) fps",
                reason: said.isEmpty ? "no reason given" : said)
        }
        x264_encoder_parameters(handle, &param)
        do throws(EncoderError) {
            let headers = try Self.headers(handle, log)
            let isLike = before?.decoderConfiguration.array == headers.configuration.array
            description =
                (isLike ? before : nil)
                ?? TrackDescription(
                    format: format, decoderConfiguration: headers.configuration, bitrate: bitrate,
                    reorderDepth: param.i_bframe == 0 ? 0 : (param.i_bframe_pyramid != 0 ? 2 : 1),
                    encoderSettings: headers.settings)
        } catch {
            x264_encoder_close(handle)
            log.deallocate()
            throw error
        }
        width = Int(param.i_width)
        self.handle = handle
        self.threads = threads
        self.log = log
        parallelism = Int(param.i_threads)
        delay = Int(x264_encoder_maximum_delayed_frames(handle))
    }

    deinit {
        guard isBroken else {
            x264_encoder_close(handle)
            return log.deallocate()
        }
        // After an error, closing can wait forever for a thread to which x264 gave no work, so the session is closed on
        // a separate queue.
        let session = (handle: UInt(bitPattern: handle), log: UInt(bitPattern: log))
        DispatchQueue(label: "relay.x264.close").async {
            guard let handle = OpaquePointer(bitPattern: session.handle) else { return }
            x264_encoder_close(handle)
            UnsafeMutablePointer<relay_x264_log>(bitPattern: session.log)?.deallocate()
        }
    }

    /// Encodes one frame, and returns a packet if one is ready. A frame whose rows are too short is refused before it
    /// reaches x264, because it would break the session.
    func encode(_ frame: VideoFrame, at index: Int64, forceKeyframe: Bool) throws(EncoderError) -> EncodedPacket? {
        try check(frame)
        var input = x264_picture_t()
        x264_picture_init(&input)
        input.i_pts = index
        input.i_type = forceKeyframe ? X264_TYPE_IDR : X264_TYPE_AUTO
        if let message = captions.message(adding: frame.captions) { input.extra_sei = .captions(message) }
        input.img.i_csp = X264_CSP_I420
        input.img.i_plane = 3
        let result: Result<EncodedPacket?, EncoderError> = frame.storage.withPlanes { planes in
            // x264 reads the planes during the call and copies the pixels that it keeps; its API is not const-correct.
            input.img.plane.0 = UnsafeMutablePointer(mutating: planes.y.bytes.assumingMemoryBound(to: UInt8.self))
            input.img.plane.1 = UnsafeMutablePointer(mutating: planes.u.bytes.assumingMemoryBound(to: UInt8.self))
            input.img.plane.2 = UnsafeMutablePointer(mutating: planes.v.bytes.assumingMemoryBound(to: UInt8.self))
            input.img.i_stride.0 = Int32(planes.y.stride)
            input.img.i_stride.1 = Int32(planes.u.stride)
            input.img.i_stride.2 = Int32(planes.v.stride)
            return Result { () throws(EncoderError) in try run(&input) }
        }
        return try result.get()
    }

    private func check(_ frame: VideoFrame) throws(EncoderError) {
        let fits = frame.storage.withPlanes { planes in
            planes.y.stride >= width && planes.u.stride >= width / 2 && planes.v.stride >= width / 2
        }
        if fits { return }
        throw EncoderError(operation: "encoding a frame", reason: "its rows are shorter than \(width) pixels")
    }

    /// Returns the packet of a frame that the encoder still holds; nil if the encoder holds no more frames, or if its
    /// session is broken.
    func flush() throws(EncoderError) -> EncodedPacket? {
        if isBroken { return nil }
        while x264_encoder_delayed_frames(handle) > 0 {
            if let packet = try run(nil) { return packet }
        }
        return nil
    }

    private func run(_ input: UnsafeMutablePointer<x264_picture_t>?) throws(EncoderError) -> EncodedPacket? {
        var output = x264_picture_t()
        var nals: UnsafeMutablePointer<x264_nal_t>?
        var count: Int32 = 0
        let size = x264_encoder_encode(handle, &nals, &count, input, &output)
        guard size >= 0 else {
            isBroken = true
            throw EncoderError(operation: "encoding a frame", reason: Self.text(log))
        }
        guard size > 0, let nals, let bytes = nals[0].p_payload else { return nil }
        let isDisposable = (0..<Int(count)).allSatisfy { !nals[$0].isSlice || nals[$0].i_ref_idc == 0 }
        // The NAL units of one call are contiguous (x264.h, "x264_encoder_encode").
        let payload = SharedBytes(UnsafeBufferPointer(start: bytes, count: Int(size)))
        return EncodedPacket(
            of: description, pts: output.i_pts, dts: output.i_dts, duration: 1, isKeyframe: output.b_keyframe != 0,
            isDisposable: isDisposable, payload: payload)
    }

    private static func text(_ log: UnsafeMutablePointer<relay_x264_log>) -> String {
        withUnsafeBytes(of: &log.pointee.text) { bytes in
            String(decoding: bytes.prefix { $0 != 0 && $0 != 10 }, as: UTF8.self)
        }
    }

    /// The parameter sets as `AVCDecoderConfigurationRecord`, and x264's own text about its settings.
    private static func headers(
        _ handle: OpaquePointer, _ log: UnsafeMutablePointer<relay_x264_log>
    ) throws(EncoderError) -> (configuration: SharedBytes, settings: String) {
        var nals: UnsafeMutablePointer<x264_nal_t>?
        var count: Int32 = 0
        guard x264_encoder_headers(handle, &nals, &count) > 0, let nals else {
            throw EncoderError(operation: "asking x264 for its parameter sets", reason: text(log))
        }
        var sps: [UInt8] = []
        var pps: [UInt8] = []
        var settings = ""
        for index in 0..<Int(count) {
            // A 4-byte length precedes each unit, because Annex B is off.
            let unit = [UInt8](
                UnsafeBufferPointer(start: nals[index].p_payload, count: Int(nals[index].i_payload)).dropFirst(4))
            switch UInt32(nals[index].i_type) {
            case NAL_SPS.rawValue: sps = unit
            case NAL_PPS.rawValue: pps = unit
            case NAL_SEI.rawValue: settings = AVCConfiguration.userDataText(inSEI: unit)
            default: break
            }
        }
        guard let record = AVCConfiguration.record(sps: sps, pps: pps) else {
            throw EncoderError(operation: "reading x264's parameter sets", reason: "they are incomplete")
        }
        return (SharedBytes(record), settings)
    }
}

extension x264_sei_t {
    /// Creates an SEI message with user data. x264 frees its memory.
    fileprivate static func captions(_ message: [UInt8]) -> x264_sei_t {
        var sei = x264_sei_t()
        guard let bytes = malloc(message.count), let list = malloc(MemoryLayout<x264_sei_payload_t>.size) else {
            return sei
        }
        bytes.copyMemory(from: message, byteCount: message.count)
        let payload = x264_sei_payload_t(
            payload_size: Int32(message.count), payload_type: CaptionQueue.payloadType,
            payload: bytes.assumingMemoryBound(to: UInt8.self))
        sei.payloads = list.bindMemory(to: x264_sei_payload_t.self, capacity: 1)
        sei.payloads.initialize(to: payload)
        sei.num_payloads = 1
        sei.sei_free = { free($0) }
        return sei
    }
}

extension x264_nal_t {
    fileprivate var isSlice: Bool {
        let type = UInt32(i_type)
        return type >= NAL_SLICE.rawValue && type <= NAL_SLICE_IDR.rawValue
    }
}

/// Makes a decoder configuration record from H.264 parameter sets, and reads the text that x264 writes about its
/// settings.
enum AVCConfiguration {
    /// Returns an `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, 5.3.3.1.2) with one SPS and one PPS, for NAL units
    /// with 4-byte lengths; nil if a parameter set is too short or too long to be valid.
    static func record(sps: [UInt8], pps: [UInt8]) -> [UInt8]? {
        guard sps.count >= 4, sps.count <= 0xFFFF, !pps.isEmpty, pps.count <= 0xFFFF else { return nil }
        let profile = sps[1]
        var record: [UInt8] = [1, profile, sps[2], sps[3], 0xFC | 3, 0xE0 | 1]
        record += [UInt8(sps.count >> 8), UInt8(sps.count & 0xFF)] + sps
        record += [1, UInt8(pps.count >> 8), UInt8(pps.count & 0xFF)] + pps
        // Records of the high profiles also contain the chroma format and the bit depths. In relay these are always
        // 4:2:0 and 8 bits.
        if ![66, 77, 88].contains(profile) { record += [0xFC | 1, 0xF8, 0xF8, 0] }
        return record
    }

    /// Returns the text of a user data SEI message (ITU-T H.264, D.1.7: type 5, a 16-byte UUID, then the data). x264
    /// writes its version and settings there. Empty if the unit has no such text.
    static func userDataText(inSEI unit: [UInt8]) -> String {
        guard unit.count > 2, unit[1] == 5 else { return "" }
        var index = 2
        var size = 0
        while index < unit.count, unit[index] == 0xFF {
            size += 255
            index += 1
        }
        guard index < unit.count else { return "" }
        size += Int(unit[index])
        let text = unit.dropFirst(index + 1).prefix(size).dropFirst(16).prefix { $0 != 0 }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Queues closed captions for encoded frames, as user data messages of ATSC A/53 (part 4, 6.2.3).
///
/// A message holds up to 31 caption constructs of 3 bytes each. If there are more constructs, because frames were
/// skipped, the rest goes with the next frames.
struct CaptionQueue {
    /// `user_data_registered_itu_t_t35` (ITU-T H.264, table in D.1).
    static let payloadType: Int32 = 4
    private static let longestMessage = 31 * 3
    /// The maximum size of the queue, in bytes: some seconds of captions at 60 frames per second. If there are more,
    /// the oldest captions are dropped.
    private static let limit = 100 * longestMessage

    private var waiting: [UInt8] = []

    /// Returns the message for the next frame; nil if the queue is empty. `data`, the captions of that frame, are
    /// queued first.
    mutating func message(adding data: [UInt8]) -> [UInt8]? {
        waiting += data
        if waiting.count > Self.limit { waiting.removeFirst(waiting.count - Self.limit) }
        let now = waiting.prefix(Self.longestMessage)
        guard !now.isEmpty else { return nil }
        defer { waiting.removeFirst(now.count) }
        // The header: country United States, provider ATSC, "GA94", type `cc_data`, a byte with the flag that the
        // captions must be processed and with the number of constructs, and a reserved byte.
        let head: [UInt8] = [0xB5, 0x00, 0x31, 0x47, 0x41, 0x39, 0x34, 0x03, 0x40 | UInt8(now.count / 3), 0xFF]
        return head + now + [0xFF]
    }
}
