# frozen_string_literal: true

module ServerCases
  # Methods that call who has called them.
  module Nesting
    def test_a_method_calls_its_caller
      serve
      talker = connect
      talker.request(1, "call_back", "who", 5)
      type, id, method, arguments = talker.hear
      assert_equal([0, "who", [5]], [type, method, arguments])
      assert_serves(talker)
      talker.answer(id, "me")
      assert_equal([1, 1, nil, "me"], talker.hear)
    end

    # The whole pool waits for its callers: somebody must still listen to them.
    def test_all_at_once_call_their_callers
      serve(limit: 2)
      talkers = Array.new(6) { connect.tap { |talker| talker.request(1, "call_back", "who") } }
      questions = talkers.map { |talker| [talker, *talker.hear] }
      questions.each { |talker, _, id| talker.answer(id, :me) }
      assert_equal([[1, 1, nil, "me"]] * 6, talkers.map(&:hear))
    end

    def test_nested_calls
      serve(limit: 1)
      talker = connect
      talker.request(1, "call_back", "again", 1)
      3.times do |depth|
        _, @id, method, arguments = talker.hear
        assert_equal(["again", [depth + 1]], [method, arguments])
        (@ids ||= []) << @id
        talker.request(10 + depth, "call_back", "again", depth + 2)
      end
      @ids << talker.hear[1]
      @ids.reverse_each { |id| talker.answer(id, :deep) }
      assert_equal([[1, 1, nil, "deep"], *Array.new(3) { |depth| [1, 10 + depth, nil, "deep"] }], talker.hear_many(4).sort)
    end
  end
end
