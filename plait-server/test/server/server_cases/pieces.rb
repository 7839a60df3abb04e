# frozen_string_literal: true

module ServerCases
  # Bodies that are no Arrays: what their `each` yields.
  module Pieces
    def test_pieces_are_chunks
      serve { [200, {}, Streams::Pieces.new("a", "", "bc" * 100)] }
      caller = connect
      2.times do
        answer = caller.get
        assert_equal(["a#{"bc" * 100}", "chunked"], [answer.body, answer.fields["transfer-encoding"]])
      end
    end

    def test_pieces_of_a_known_length
      serve { [200, { "content-length" => "3" }, Streams::Pieces.new("a", "bc")] }
      caller = connect
      2.times { assert_equal(["abc", nil], [(answer = caller.get).body, answer.fields["transfer-encoding"]]) }
    end

    def test_pieces_of_a_length_that_is_said_oddly
      lengths = [["3"], " 3 ", "3\n3", 3, %w[3 3]]
      serve(lint: false) { |env| [200, { "content-length" => lengths[env["PATH_INFO"][1..].to_i] }, Streams::Pieces.new("abc")] }
      caller = connect
      lengths.each_index do |number|
        answer = caller.get("/#{number}")
        assert_equal(%w[abc 3], [answer.body, answer.fields["content-length"]])
      end
    end

    def test_pieces_of_two_lengths
      serve(lint: false) { [200, { "content-length" => "3", "Content-Length" => "5" }, Streams::Pieces.new("abc")] }
      assert_equal(500, get.status)
      assert_includes(@errors.next, "Content-Lengths that differ")
    end

    def test_pieces_for_old_clients
      serve { [200, {}, Streams::Pieces.new("a", "b")] }
      assert_match(/connection: close\r\n.*\r\n\r\nab\z/m, connect.send("GET / HTTP/1.0\r\n\r\n").rest)
    end

    def test_pieces_to_head
      serve { [200, {}, Streams::Pieces.new("a", "b")] }
      caller = connect
      2.times { assert_equal(200, caller.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").hear(to_head: true).status) }
    end

    def test_pieces_as_they_come
      pieces = Thread::Queue.new
      serve { [200, {}, Enumerator.new { |out| 3.times { out << pieces.pop } }] }
      caller = connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      %w[one two three].each do |word|
        pieces << word
        received = +""
        received << caller.raw until received.include?(word)
      end
    end

    def test_a_piece_that_changes_while_its_reader_is_slow
      piece = "0" * 20_000_000
      serve(lint: false) { |env| [200, {}, env["PATH_INFO"] == "/" ? [] : [piece].each] }
      caller = connect.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until { caller.socket.wait_readable(0) && assert_serves }
      piece.replace("1" * 20_000_000)
      assert_equal("0" * 20_000_000, caller.hear.body)
    end

    def test_a_block_that_a_body_has_kept
      kept = nil
      body = Class.new do
        define_method(:each) do |&block|
          block.call("a")
          kept = block
        end
      end
      serve(lint: false) { [200, {}, body.new] }
      caller = connect
      2.times do
        assert_equal("a", caller.get.body)
        assert_equal("the answer is over", assert_raises(IOError) { kept.call("b") }.message)
      end
    end
  end
end
