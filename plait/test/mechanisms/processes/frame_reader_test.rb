# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/processes"

class ProcessesFrameReaderTest < Minitest::Test
  Frames = Plait::Mechanisms.const_get(:Processes)::Frames
  FrameReader = Plait::Mechanisms.const_get(:Processes)::FrameReader

  def frame(index, payload, kind: Frames::VALUE)
    [kind, 0, 1, index, 0.5, 1.5, payload.bytesize].pack(Frames::ANSWER.format) + payload
  end

  def setup = @reader = FrameReader.new(Frames::ANSWER, kinds: Frames::KINDS)

  def push(data)
    frames = []
    @reader.push(data) { |fields, payload| frames << [fields[3], payload] }
    frames
  end

  def test_the_sizes_of_the_headers
    assert_equal(Frames::BATCH.size, [0, 0, 0].pack(Frames::BATCH.format).bytesize)
    assert_equal(Frames::ANSWER.size, [0, 0, 0, 0, 0.0, 0.0, 0].pack(Frames::ANSWER.format).bytesize)
  end

  def test_several_in_one_piece
    assert_equal([[1, "one"], [2, nil], [3, "three"]], push(frame(1, "one") + frame(2, "") + frame(3, "three")))
    refute_predicate(@reader, :partial?)
  end

  def test_every_way_to_cut_them
    stream = frame(1, "one") + frame(2, "") + frame(3, "x" * 50)
    (1...stream.bytesize).each do |cut|
      frames = push(stream.byteslice(0, cut)) + push(stream.byteslice(cut..))

      assert_equal([[1, "one"], [2, nil], [3, "x" * 50]], frames)
      refute_predicate(@reader, :partial?)
    end
  end

  def test_byte_by_byte
    stream = frame(1, "one") + frame(2, "two")

    assert_equal([[1, "one"], [2, "two"]], stream.each_char.flat_map { |byte| push(byte) })
  end

  def test_half_a_frame_is_none
    assert_empty(push(frame(1, "x" * 100).byteslice(0..-2)))
    assert_predicate(@reader, :partial?)
  end

  def test_what_is_held_does_not_share_the_callers_buffer
    whole = frame(1, "one")
    buffer = whole.byteslice(0, 20)
    push(buffer)
    buffer.replace("?" * 20)

    assert_equal([[1, "one"]], push(whole.byteslice(20..)))
  end

  def test_a_large_frame_is_read_to_its_end_and_no_further
    large = frame(1, "x" * 200_000)
    push(large.byteslice(0, 150_000))

    assert_equal(FrameReader::READ, FrameReader.new(Frames::ANSWER, kinds: Frames::KINDS).wanted)
    assert_equal(large.bytesize - 150_000, @reader.wanted)
    assert_equal([1, 200_000], push(large.byteslice(150_000..)).first.then { |index, payload| [index, payload.bytesize] })
  end

  # Copying what is there for each new piece would be 200 GB here.
  def test_large_frames_in_small_pieces_are_not_copied_again_and_again
    pieces = frame(1, "x" * 40_000_000).scan(/.{1,4096}/mn)
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

    assert_equal(40_000_000, pieces.flat_map { |piece| push(piece) }.first.last.bytesize)
    assert_operator(Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before, :<, 5)
  end

  def test_garbage
    assert_raises(Plait::Mechanisms.const_get(:Processes)::Garbage) { push("hello world " * 10) }
    assert_raises(Plait::Mechanisms.const_get(:Processes)::Garbage) { push("hello" + frame(1, "one")) }
  end

  def test_an_absurd_length_reserves_no_memory
    header = [Frames::VALUE, 0, 1, 1, 0.5, 1.5, 1 << 60].pack(Frames::ANSWER.format)

    assert_empty(push(header))
  end
end
