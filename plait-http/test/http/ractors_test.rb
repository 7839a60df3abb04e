# frozen_string_literal: true

require_relative "scripted_origin"
require "support/ractors"

# A ractor can't use connections, and is told so whichever way it comes.
class HTTPRactorsTest < Minitest::Test
  def setup = Support::Ractors.needed

  CALLS = {
    "get" => "Plait::HTTP.get('URL')",
    "post" => "Plait::HTTP.post('URL', json: 1)",
    "options of a client" => "Plait::HTTP.get('URL', proxy: false)",
    "a client" => "Plait::HTTP::Client.new(proxy: false)",
    "fan_out" => "Plait::HTTP.fan_out(['URL'])"
  }.freeze

  CALLS.each do |name, code|
    define_method("test_#{name}".tr(" ", "_")) do
      ScriptedOrigin.open do |origin|
        text = code.gsub("URL", origin.url)
        error = assert_raises(Plait::UnsupportedError) { Plait.map([text], on: :ractors) { |call| eval(call) } } # rubocop:disable Security/Eval -- of the test
        assert_match(/a ractor can't use the connections .* on: :processes/, error.message)
        assert_equal(0, origin.connections)
      end
    end
  end

  def test_a_fan_out_on_ractors
    [:ractors, %i[processes ractors]].each do |on|
      error = assert_raises(Plait::UnsupportedError) { Plait::HTTP.fan_out(["http://127.0.0.1:1/"], on: on) }
      assert_match(/on: :processes/, error.message)
    end
  end
end
