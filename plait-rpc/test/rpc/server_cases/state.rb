# frozen_string_literal: true

module ServerCases
  # What a method finds at its fiber and thread.
  module State
    NAMES = %w[ann bob cid dan eve fay].freeze

    # Quick and slow ones, of one batch and one by one: by C and by Ruby.
    def test_a_method_sees_nothing_that_an_earlier_one_has_left
      serve({ quick: ->(name) { remember(name) }, slow: ->(name) { remember(name, 0.003) } })
      talker = connect
      %w[quick slow].each do |name|
        talker.socket.write(NAMES.each_with_index.map { |user, id| [0, id, name, [user]].to_msgpack }.join)
        answers = talker.hear_many(NAMES.size).sort_by { |answer| answer[1] }
        assert_equal(NAMES.map { |user| [[], user, user] }, answers.map(&:last), name)
        NAMES.each { |user| assert_equal([[], user, user], talker.request(1, name, user).then { talker.hear.last }) }
      end
    end

    def test_nor_what_one_that_failed_has_left
      serve({ fail: ->(name) { remember(name) && raise("as told") }, see: ->(name) { remember(name) } })
      talker = connect
      3.times { talker.request(1, "fail", "ann").then { refute_nil(talker.hear[2]) } }
      3.times { assert_equal([[], "bob", "bob"], talker.request(1, "see", "bob").then { talker.hear.last }) }
    end

    private

    def remember(name, seconds = nil)
      thread = Thread.current
      fiber = Fiber.current
      seen = [thread[:user], thread.thread_variable_get(:user), fiber.instance_variable_get(:@user)]
      thread[:user] = name
      thread.thread_variable_set(:user, name)
      fiber.instance_variable_set(:@user, name)
      sleep(seconds) if seconds
      [seen.compact, thread[:user], thread.thread_variable_get(:user)]
    end
  end
end
