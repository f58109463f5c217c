// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Reuses memory for the frames that a program renders.
///
/// The pool lends memory as a ``Canvas``, which is drawn and then becomes a frame. When the last reference to the frame
/// is released, the memory returns to the pool. So a running program does not allocate memory for frames. Any thread
/// may use the pool.
package final class FramePool: Sendable {
    /// Luma columns of the pool's frames.
    package let width: Int
    /// Luma rows of the pool's frames.
    package let height: Int

    private let limit: Int
    private let spare = Mutex<[FrameMemory]>([])

    /// Creates a pool of frames of this size; both numbers must be even. The pool keeps at most `limit` unused frames.
    /// The number of frames in use is not limited.
    package init(width: Int, height: Int, keeping limit: Int = 8) {
        precondition(width > 0 && height > 0 && width % 2 == 0 && height % 2 == 0, "4:2:0 needs even sizes")
        (self.width, self.height, self.limit) = (width, height, limit)
    }

    /// Number of unused frames that the pool keeps for reuse.
    package var spareCount: Int { spare.withLock { $0.count } }

    /// Returns a canvas. It may still contain an earlier frame, so the caller must draw every pixel.
    package func canvas() -> Canvas {
        let memory = spare.withLock { $0.popLast() } ?? FrameMemory(width: width, height: height)
        return Canvas(PooledFrame(memory, of: self))
    }

    /// Returns a canvas with a copy of `frame`, which must have the pool's size.
    package func canvas(showing frame: VideoFrame) -> Canvas {
        var canvas = canvas()
        canvas.copy(frame)
        return canvas
    }

    /// Takes `frame`, which must have the pool's size, out of the caller's variable, and returns a canvas with its
    /// content. The canvas uses the frame's own memory if this memory belongs to the pool and nothing else refers to
    /// it. Otherwise the pixels are copied.
    package func canvas(taking frame: inout VideoFrame?) -> Canvas {
        guard let pooled = frame?.storage as? PooledFrame, pooled.belongs(to: self) else {
            guard let other = frame.take() else { return canvas() }
            return canvas(showing: other)
        }
        frame = nil
        var own = consume pooled
        if isKnownUniquelyReferenced(&own) { return Canvas(own) }
        let canvas = canvas()
        withExtendedLifetime(own) { canvas.target.copy(own.memory.target.source) }
        return canvas
    }

    fileprivate func giveBack(_ memory: FrameMemory) {
        spare.withLock { if $0.count < limit { $0.append(memory) } }
    }
}

/// The memory for the pixels of one frame. Each plane and each row begins at a cache line.
final class FrameMemory: Sendable {
    /// The alignment of rows in bytes: the size of a cache line, which is also the size of the longest vector.
    private static let alignment = 64

    let width: Int
    let height: Int
    let lumaStride: Int
    let chromaStride: Int
    // Only one `Canvas` writes to this memory: it holds the only `PooledFrame` of this memory, cannot be copied, and is
    // consumed before the frame is shared. From then on the memory is read-only. When the last reference to the
    // `PooledFrame` is released, the pool's mutex passes the memory on to the next canvas. `deinit` frees the memory.
    nonisolated(unsafe) let bytes: UnsafeMutablePointer<UInt8>

    init(width: Int, height: Int) {
        (self.width, self.height) = (width, height)
        lumaStride = Self.aligned(width)
        chromaStride = Self.aligned(width / 2)
        let count = lumaStride * height + chromaStride * height
        bytes = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: Self.alignment)
            .initializeMemory(as: UInt8.self, repeating: 0, count: count)
    }

    deinit { UnsafeMutableRawPointer(bytes).deallocate() }

    private static func aligned(_ count: Int) -> Int { (count + alignment - 1) / alignment * alignment }

    /// The planes into which kernels draw. They are valid as long as this object exists.
    var target: TargetPlanes {
        let u = bytes + lumaStride * height
        let v = u + chromaStride * (height / 2)
        return TargetPlanes(
            y: TargetPlane(bytes: bytes, stride: lumaStride, width: width, height: height),
            u: TargetPlane(bytes: u, stride: chromaStride, width: width / 2, height: height / 2),
            v: TargetPlane(bytes: v, stride: chromaStride, width: width / 2, height: height / 2))
    }
}

/// A frame in a pool's memory. The memory returns to the pool when the last reference is released.
final class PooledFrame: FrameStorage {
    let memory: FrameMemory
    private let pool: FramePool

    init(_ memory: FrameMemory, of pool: FramePool) {
        (self.memory, self.pool) = (memory, pool)
    }

    deinit { pool.giveBack(memory) }

    func belongs(to pool: FramePool) -> Bool { self.pool === pool }

    func withPlanes<R>(_ body: (Planes) throws -> R) rethrows -> R {
        let planes = memory.target
        // Keeps this object alive while `body` reads the pixels by their addresses. Otherwise the memory could return
        // to the pool in the meantime.
        return try withExtendedLifetime(self) {
            try body(
                Planes(
                    y: .init(bytes: planes.y.bytes, stride: planes.y.stride),
                    u: .init(bytes: planes.u.bytes, stride: planes.u.stride),
                    v: .init(bytes: planes.v.bytes, stride: planes.v.stride)))
        }
    }
}
