# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "msgpack"
require "plait/protocols/messagepack_rpc"

class MessagePackRPCRulesTest < Minitest::Test
  MessagePackRPC = Plait.const_get(:Protocols)::MessagePackRPC
  Rules = MessagePackRPC.const_get(:Rules)

  def test_each_makes_an_error_that_names_it
    Rules::ALL.each do |name, rule|
      error = Rules.error(name, 7, MessagePackRPC.limits)
      assert_equal([name, 7, rule.section, nil], [error.rule, error.offset, error.section, error.status])
      assert_match(/#{Regexp.escape(rule.text)}, at byte 7.*#{rule.section}/, error.message)
    end
  end

  def test_each_limit_is_one_of_the_limits
    assert_equal(MessagePackRPC.const_get(:Limits)::DEFAULTS.keys.sort, Rules::ALL.values.filter_map(&:limit).sort)
  end

  def test_kinds
    kinds = %i[never_used message_limit truncated].map { |name| Rules.error(name, 0, MessagePackRPC.limits).class }
    assert_equal([Plait::RemoteProtocolError, Plait::LimitExceeded, Plait::TruncatedError], kinds)
  end

  def test_what_is_refused_is_named
    error = Rules.refusal(:id, -1)
    assert_equal("not sent, for it would be broken MessagePack-RPC: an id that is not an Integer of 0 to 2^32 - 1 " \
                 "(of a response: to 2^64 - 1): -1", error.message)
    assert_equal([Plait::LocalProtocolError, :id], [error.class, error.rule])
    assert_operator(Rules.refusal(:packed, "x" * 1000).message.size, :<, 400)
  end

  def test_errors_travel_between_processes
    error = Marshal.load(Marshal.dump(Rules.error(:message_limit, 3, MessagePackRPC.limits)))
    assert_equal([:message_limit, 3, :message, 256 << 20], [error.rule, error.offset, error.limit, error.maximum])
  end
end
