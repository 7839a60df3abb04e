# frozen_string_literal: true

module Plait
  module HTTP
    NativeHTTP.define_wire(self) if Native.available?

    # One HTTP/1.1 connection, in C: plait-io/ext/plait_io/wire/rb_wire.h. Its twin PureWire documents the methods. This part
    # makes the errors that C raises.
    class NativeWire
      include WireComplaints

      def inspect = "#<Plait::HTTP::Wire #{endpoint}#{" closed" if closed?}>"

      private

      # @param started [Float] monotonic seconds
      def late(phase, started)
        @started = started
        super(phase, timeouts, !ends.nil? && Deadline.now >= ends)
      end

      # @param bytes [String] from the first byte of a broken head
      # @return (see Protocols::HTTP1::Repair.call)
      def repair(bytes) = Protocols::HTTP1::Repair.call(bytes)

      # @param offset [Integer] bytes of the message before the one that broke it
      def broken(rule, offset) = named(Protocols::HTTP1::Rules.error(rule, offset, limits || Protocols::HTTP1::Limits.new))
    end
    private_constant :NativeWire
    private_constant :NativeBatch if const_defined?(:NativeBatch)
    private_constant :NativeCheckout if const_defined?(:NativeCheckout)
  end
end
