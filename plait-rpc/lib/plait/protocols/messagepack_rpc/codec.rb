# frozen_string_literal: true

require_relative "rules"

module Plait
  module Protocols
    module MessagePackRPC
      # A value that MessagePack has no form for.
      class PackError < LocalProtocolError; end

      # A value that can't be made an object, in a message that is well formed: the connection goes on.
      class UnpackError < Error; end

      # A packed value whose large strings were received apart. In the bytes a mark stands for each: a fixext 4 of an extension
      # type of its own, with the string's number.
      class Skeleton
        MARK_TYPE = -128
        MARK_SIZE = 6

        # @return [String] packed
        attr_reader :bytes

        # @param bytes [String] packed
        # @param bodies [Array<String>] the message's large strings, by number
        # @param marks [Array<Integer>] offsets of the marks in the bytes
        # @param ambiguous [Boolean] whether the peer has sent extensions of the marks' type itself
        def initialize(bytes, bodies, marks, ambiguous)
          @bytes = bytes
          @bodies = bodies
          @marks = marks
          @ambiguous = ambiguous
        end

        def ambiguous? = @ambiguous

        # @return [String, nil] the value, if it is a single large string
        def body = (body_of(bytes.byteslice(2, 4)) if bytes.bytesize == MARK_SIZE)

        # @param payload [String] a mark's
        # @return [String] the large string it stands for
        def body_of(payload) = @bodies.fetch(payload.unpack1("N"))

        # @return [String] the packed value as it was sent
        def join
          at = 0
          joined = @marks.each_with_object("".b) do |mark, whole|
            body = body_of(bytes.byteslice(mark + 2, 4))
            whole << bytes.byteslice(at, mark - at) << header(body) << body.b
            at = mark + MARK_SIZE
          end
          joined << bytes.byteslice(at..)
        end

        private

        def header(body)
          short, middle, long = body.encoding == Encoding::BINARY ? [0xc4, 0xc5, 0xc6] : [0xd9, 0xda, 0xdb]
          size = body.bytesize
          return [short, size].pack("CC") if size < 1 << 8

          size < 1 << 16 ? [middle, size].pack("Cn") : [long, size].pack("CN")
        end
      end

      # Values to bytes and back, by the gem msgpack, which the first Codec loads. One serves any number of threads and
      # connections. Unregistered extension types become MessagePack::ExtensionValue; the errors of a registered type's code are
      # not caught.
      class Codec
        # Strings of so many bytes are not copied when they are packed.
        LARGE = 64 * 1024
        # Bytes of a packed value: the default limit of a peer, without the rest of a message.
        LARGEST = Limits::DEFAULTS.fetch(:message) - (4 * 1024)
        # Whether packers and unpackers are kept for reuse: with a GVL threads can share an Array. One that has raised is not
        # kept.
        KEEPS = RUBY_ENGINE == "ruby"
        # Errors of endless nesting, on CRuby and in JRuby's packer.
        TOO_DEEP = [SystemStackError, *(::Java::JavaLang::StackOverflowError if RUBY_ENGINE == "jruby")].freeze
        CLASS = ::Kernel.instance_method(:class)

        # @param factory [MessagePack::Factory, nil] with extension types; copied
        # @param raw [Boolean] for peers older than MessagePack's str 8 and bin: strings are written without them
        # @param symbolize_keys [Boolean] whether keys of maps become Symbols
        # @param largest [Integer] bytes of a packed value: a peer ends the connection at a message over its limit
        # @yieldparam factory [MessagePack::Factory] to register extension types
        # @raise [UnsupportedError] without the gem
        def initialize(factory: nil, raw: false, symbolize_keys: false, largest: LARGEST)
          load_gem
          factory = factory ? factory.dup : ::MessagePack::Factory.new
          yield factory if block_given?
          @factory = factory.freeze
          @packing = { compatibility_mode: raw, write_reference_threshold: LARGE }.freeze
          @unpacking = { symbolize_keys: symbolize_keys, allow_unknown_ext: true }.freeze
          @largest = largest
          @packers = []
          @unpackers = []
          @in_pieces = ::MessagePack::Packer.method_defined?(:to_a)
          @marks_free = !factory.type_registered?(Skeleton::MARK_TYPE)
          freeze
        end

        # @return [Boolean] whether numbers, Strings and Arrays have MessagePack's current form, so that C may write them
        def plain? = instance_of?(Codec) && !@packing.fetch(:compatibility_mode) && @largest >= LARGEST

        # @return [String, Array<String>] packed; in pieces if it has large strings, which are not copied
        # @raise [PackError]
        def pack(value)
          packer = @packers.pop || @factory.packer(@packing)
          packer.write(value)
          packed = @in_pieces ? pieces_of(packer) : packer.full_pack
          @packers.push(packer) if KEEPS
          size = packed.is_a?(String) ? packed.bytesize : packed.sum(&:bytesize)
          size > @largest ? refuse_size(value, size) : packed
        rescue NoMethodError => e
          raise unless e.name == :to_msgpack

          refuse(value, "#{class_of(e.receiver)} has no form in MessagePack: register an extension type for it, or give a " \
                        "Hash or an Array")
        rescue RangeError, EncodingError => e
          refuse(value, e.message)
        rescue *TOO_DEEP
          refuse(value, "it is nested too deeply, or contains itself")
        end

        def unpack(packed)
          return unpack_skeleton(packed) if packed.is_a?(Skeleton)

          unpacker = @unpackers.pop || @factory.unpacker(@unpacking)
          unpacker.feed(packed.is_a?(Array) ? packed.join : packed)
          value = unpacker.full_unpack
          @unpackers.push(unpacker) if KEEPS
          value
        rescue ::MessagePack::UnpackError, EOFError, EncodingError => e
          raise UnpackError, "the peer sent a value that can't be unpacked: #{e.message} (#{e.class})"
        end

        private

        def load_gem
          require "msgpack"
        rescue LoadError => e
          raise UnsupportedError, "MessagePack-RPC needs the gem msgpack (#{e.message}): add `gem \"msgpack\"` to the Gemfile " \
                                  "(gem install msgpack)"
        end

        # (JRuby's packer keeps no references to Strings.)
        def pieces_of(packer)
          pieces = packer.to_a
          packer.reset
          pieces.size == 1 ? pieces.first : pieces
        end

        def unpack_skeleton(skeleton)
          return skeleton.body if skeleton.body
          return unpack(skeleton.join) if skeleton.ambiguous? || !@marks_free

          unpacker = @factory.unpacker(@unpacking)
          unpacker.register_type(Skeleton::MARK_TYPE) { |payload| skeleton.body_of(payload) }
          unpacker.feed(skeleton.bytes)
          unpacker.full_unpack
        end

        def refuse_size(value, size)
          refuse(value, "it takes #{size} bytes of a message, and a peer takes #{@largest}: send it in parts, or raise " \
                        "limits: {message: ...} on both sides")
        end

        def refuse(value, why) = raise(PackError, "a value of #{class_of(value)} can't be packed: #{why}")

        # Also of a BasicObject.
        def class_of(object) = CLASS.bind_call(object)
      end
    end
  end
end
