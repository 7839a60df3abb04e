# frozen_string_literal: true

require "io/nonblock"

module Plait
  module Patches
    # Of File, and of IO's methods that open files: FIFOs and flock.
    module FilePatches
      def self.install = [WholeFifo, Fifo, Lock].each(&:install)

      # The methods of IO and File that open, read or write, and close make a File without calling its initialize.
      module WholeFifo
        OPENING = %i[mode external_encoding internal_encoding encoding textmode binmode perm flags].freeze

        def self.install = IO.singleton_class.prepend(self)

        def self.waits?(path, *modes) = Patches.scheduler && Fifo.waits?(path, *modes)

        # @raise [Errno::ESPIPE] which a FIFO has to say to any offset
        def self.at(file, offset) = file.tap { file.seek(offset) if offset }

        def sysopen(path, mode = nil, *permissions)
          return super unless WholeFifo.waits?(path, mode)

          Opening.on_thread(path, mode, *permissions, &:itself)
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

        Gate.before(self, :sysopen, :read, :binread, :readlines, :foreach, :write, :binwrite)
      end

      # open(2) of a FIFO waits for the other end, which no hook sees; after it, the descriptor must not block.
      module Fifo
        def self.install = File.prepend(self)

        # @param modes [Array<Object>] as given to open: flags, a String or nothing
        def self.waits?(path, *modes)
          return false unless path.is_a?(String) || path.respond_to?(:to_path)

          File.pipe?(path) && modes.none? { |mode| mode.is_a?(Integer) && mode.anybits?(File::NONBLOCK) }
        end

        def initialize(*arguments, **options)
          path, mode, = arguments
          mode ||= options[:mode]
          return super unless Patches.scheduler && Fifo.waits?(path, mode, options[:flags])

          # Ruby 3.1 knows a descriptor by there being two arguments at most, options included.
          Opening.on_thread(*arguments, **options) { |fd| super(fd, mode: mode || "r", **options.except(:mode, :perm)) }
          self.nonblock = true
        end

        Gate.before(self, :initialize)
      end

      # An open(2) under way in a thread.
      class Opening
        class CalledOff < Exception; end # rubocop:disable Lint/InheritException

        # Tries to break the call off, and seconds between two. On a busy machine 20 were too few, and its descriptor was lost.
        TRIES = 500
        PAUSE = 0.002
        # Ruby 3.4 calls open(2) again where an exception that is not let in has broken it off.
        STUBBORN = RUBY_VERSION >= "3.4"
        private_constant :TRIES, :PAUSE, :STUBBORN

        # On a thread of its own: it may wait without end, and a pool's thread could not be had back by a kill alone.
        # @param arguments as File.new takes them
        # @yieldparam descriptor [Integer] which is the block's, unless that raises
        # @return [Object] the block's value
        def self.on_thread(*arguments, **options)
          opening = new(*arguments, **options)
          opening.descriptor.then { |fd| Uninterruptible.run { yield(fd).tap { opening.keep } } } # else two Files may close it
        ensure
          opening&.drop
        end

        # @param arguments as File.new takes them
        def initialize(*arguments, **options)
          @path = arguments.first
          @thread = Thread.handle_interrupt(CalledOff => :never) { Thread.new { open(arguments, options) } }
        end

        def descriptor
          @thread.join
          @file.fileno
        end

        # The descriptor belongs to the caller from now on.
        def keep
          @file.autoclose = false
          @file = nil
        end

        # Also when further interruptions come: the last of them is raised then.
        def drop
          call_off if @thread.alive?
          @file&.close
        rescue Exception => e
          later = e
          retry
        ensure
          raise later if later
        end

        private

        def open(arguments, options)
          Thread.current.report_on_exception = false
          @file = File.new(*arguments, **options)
        rescue Errno::EINTR
          retry unless @over
        end

        # An exception that is never let in breaks the system call off all the same, and no more than that: one that is
        # let in (a kill, too) loses the descriptor when the call has just succeeded.
        def call_off
          @over = true
          TRIES.times do
            STUBBORN ? open_other_end : @thread.raise(CalledOff)
            return if @thread.join(PAUSE)
          end
          @thread.kill.join(PAUSE)
        end

        # The call succeeds, and {#drop} closes its descriptor. Another process that opens this FIFO now meets its end, too.
        def open_other_end
          [File::WRONLY, File::RDONLY].each do |mode|
            return File.open(@path, mode | File::NONBLOCK) { nil }
          rescue SystemCallError
            next # ENXIO: the call waits for a reader
          end
        end
      end

      # flock(2) waits in the kernel. Asking again, a little less often each time, can be cancelled; a thread could not.
      module Lock
        FIRST_PAUSE = 0.001
        LONGEST_PAUSE = 0.02

        def self.install = File.prepend(self)

        def self.waits?(operation) = operation.is_a?(Integer) && operation.nobits?(File::LOCK_NB | File::LOCK_UN)

        def flock(operation)
          return super unless Patches.scheduler && Lock.waits?(operation)

          pause = FIRST_PAUSE
          until (result = super(operation | File::LOCK_NB))
            sleep(pause)
            pause = [pause * 2, LONGEST_PAUSE].min
          end
          result
        end

        Gate.before(self, :flock)
      end

      private_constant :WholeFifo, :Fifo, :Lock
    end
  end
end
