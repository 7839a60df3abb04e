# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/http"

# Which of the twins it is.
class HTTPWireTest < Minitest::Test
  HTTP = Plait::HTTP
  # For a NativeBatch, which has no twin.
  LAUNCHING = %i[launch relaunch launched? conclude ends prompt?].freeze

  def twins(kind) = [HTTP.const_get("#{kind}Wire"), HTTP.const_get("#{kind}Response")]

  def test_the_native_one_where_it_is
    kind = Plait.const_get(:Native).available? ? "Native" : "Pure"
    assert_equal(twins(kind), [HTTP.const_get(:Wire), HTTP::Response])
  end

  def test_the_twins_have_the_same_methods
    skip("only the pure ones are here") unless Plait.const_get(:Native).available?

    twins("Native").zip(twins("Pure")).each do |native, pure|
      methods = native.public_instance_methods - Object.public_instance_methods - LAUNCHING
      assert_empty(methods - pure.public_instance_methods, "#{pure} lacks")
      assert_equal(methods.to_h { |name| [name, native.instance_method(name).arity] },
                   methods.to_h { |name| [name, pure.instance_method(name).arity] })
    end
  end
end
