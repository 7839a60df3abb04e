# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/portable"

class ProcessesPortableErrorTest < Minitest::Test
  PortableError = Plait::Mechanisms.const_get(:Portable)::Error

  class Wordy < StandardError
    def initialize(handle)
      @handle = handle
      super()
    end

    def message = "handled by #{@handle.call}"
  end

  class Silent < StandardError
    def message = raise("nothing to say")
  end

  def raised(error, cause: nil)
    raise error, cause: cause
  rescue Exception => e
    e
  end

  def carried(error) = PortableError.load(PortableError.dump(error))

  def test_plain_ones
    error = carried(raised(KeyError.new("no", receiver: {}, key: 1)))

    assert_instance_of(KeyError, error)
    assert_equal(["no", 1], [error.message, error.key])
    assert_match(/portable_error_test/, error.backtrace.first)
  end

  def test_a_message_that_is_computed_from_what_stays_behind
    error = carried(raised(Wordy.new(-> { "me" })))

    assert_instance_of(Wordy, error)
    assert_equal("handled by me", error.message)
  end

  def test_causes_are_rebuilt_too
    inner = raised(Wordy.new(-> { "inner" }))
    error = carried(raised(ArgumentError.new("outer"), cause: inner))

    assert_equal([ArgumentError, "outer"], [error.class, error.message])
    assert_equal([Wordy, "handled by inner"], [error.cause.class, error.cause.message])
    assert_equal(inner.backtrace, error.cause.backtrace)
  end

  def test_an_anonymous_class
    error = carried(raised(Class.new(IOError).new("gone")))

    assert_instance_of(IOError, error)
    assert_match(/gone/, error.message)
  end

  def test_one_without_a_backtrace
    assert_nil(carried(RuntimeError.new("never raised")).backtrace)
  end

  def test_one_that_is_no_standard_error
    error = carried(raised(NotImplementedError.new("later")))

    assert_instance_of(NotImplementedError, error)
  end

  def test_one_whose_message_raises
    assert_instance_of(Silent, carried(raised(Silent.new)))
    assert_match(/is lost/, carried(raised(Silent.new.tap { |e| e.instance_variable_set(:@io, $stdin) })).message)
  end
end
