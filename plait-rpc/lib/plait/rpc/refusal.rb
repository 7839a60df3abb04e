# frozen_string_literal: true

module Plait
  module RPC
    # Why a request has no result, when it is not for an exception of the method that was called.
    class Refusal
      # What peers that name their errors know them by.
      Kind = Struct.new(:name, :code)

      # - no_method: there is none of that name, or it may not be called
      # - arguments: another number of them than the method takes, or they can't be unpacked
      # - limit: it has more bytes, levels or elements than is taken
      # - denied: the connection has not shown the secret
      # - busy: too many requests wait already
      # - stopping: the server ends
      # - abandoned: what ran the method was killed, or left the server by `exit`
      # - result: the method's result can't be packed
      KINDS = {
        no_method: Kind.new("NoMethodError", ".CallError.NoMethodError"),
        arguments: Kind.new("ArgumentError", ".CallError.ArgumentError"),
        limit: Kind.new("LimitError", ".CallError"),
        denied: Kind.new("PermissionError", ".CallError"),
        busy: Kind.new("ServerBusyError", ".ServerError.ServerBusyError"),
        stopping: Kind.new("ServerStoppingError", ".ServerError"),
        abandoned: Kind.new("AbandonedError", ".ServerError"),
        result: Kind.new("ResultError", ".ServerError")
      }.each_value(&:freeze).freeze
      private_constant :Kind

      # @return [Symbol] of KINDS
      attr_reader :kind
      # @return [String]
      attr_reader :message

      # @param kind [Symbol]
      # @param message [String]
      def initialize(kind, message)
        @kind = kind
        @message = message
      end

      # @return [String] as "NoMethodError"
      def name = KINDS.fetch(@kind).name

      # @return [String] as ".CallError.NoMethodError"
      def code = KINDS.fetch(@kind).code

      # @return [Boolean] whether it is the caller's mistake
      def caller? = %i[no_method arguments limit denied].include?(@kind)
    end
  end
end
