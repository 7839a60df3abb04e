# frozen_string_literal: true

require_relative "fifo"
require_relative "opening"

module Plait
  module Mechanisms
    module Compat
      # The methods of IO and File that open, read or write, and close make a File without calling its initialize.
      module WholeFifo
        OPENING = %i[mode external_encoding internal_encoding encoding textmode binmode perm flags].freeze

        def self.install = IO.singleton_class.prepend(self)

        def self.waits?(path, *modes) = Compat.scheduler && Fifo.waits?(path, *modes)

        # @raise [Errno::ESPIPE] which a FIFO has to say to any offset
        def self.at(file, offset) = file.tap { file.seek(offset) if offset }

        def sysopen(path, mode = nil, *permissions)
          return super unless WholeFifo.waits?(path, mode)

          Opening.aside(path, mode, *permissions, &:itself)
        end

        def read(path, length = nil, offset = nil, **options)
          return super unless WholeFifo.waits?(path)

          File.open(path, options[:mode] || "r", **options.except(:mode)) { |file| WholeFifo.at(file, offset).read(length) }
        end

        def binread(path, length = nil, offset = nil)
          return super unless WholeFifo.waits?(path)

          File.open(path, "rb") { |file| WholeFifo.at(file, offset).read(length) }
        end

        def readlines(path, *separators, **options)
          return super unless WholeFifo.waits?(path)

          opening = options.slice(*OPENING)
          File.open(path, "r", **opening) { |file| file.readlines(*separators, **options.except(*OPENING)) }
        end

        def foreach(path, *separators, **options, &block)
          return super unless block && WholeFifo.waits?(path)

          opening = options.slice(*OPENING)
          File.open(path, "r", **opening) { |file| file.each_line(*separators, **options.except(*OPENING), &block) }
          nil
        end

        def write(path, data, offset = nil, **options)
          return super unless WholeFifo.waits?(path)

          File.open(path, options[:mode] || "w", **options.except(:mode)) { |file| WholeFifo.at(file, offset).write(data) }
        end

        def binwrite(path, data, offset = nil, **options)
          return super unless WholeFifo.waits?(path)

          File.open(path, options[:mode] || "wb", **options.except(:mode)) { |file| WholeFifo.at(file, offset).write(data) }
        end
      end
    end
  end
end
