# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/io/reactor"

# Which of the twins it is.
class IoReactorTest < Minitest::Test
  Io = Plait.const_get(:Io)

  def test_the_native_one_where_it_is
    assert_equal(defined?(Io::NativeReactor) ? Io::NativeReactor : Io::PureReactor, Io::Reactor)
    assert_equal(Plait.const_get(:Native).available? && RUBY_PLATFORM.include?("linux"), Io::Reactor != Io::PureReactor)
  end

  def test_the_twins_have_the_same_methods
    skip("only the pure one is here") unless defined?(Io::NativeReactor)

    methods = Io::NativeReactor.public_instance_methods(false)
    assert_equal(methods.sort, Io::PureReactor.public_instance_methods(false).sort)
    methods.each do |name|
      assert_equal(Io::NativeReactor.instance_method(name).arity < 0, Io::PureReactor.instance_method(name).arity < 0, name)
    end
    %i[READABLE WRITABLE QUEUES].each { |name| assert_equal(Io::NativeReactor.const_get(name), Io::PureReactor.const_get(name)) }
  end
end
