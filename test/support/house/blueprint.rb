# frozen_string_literal: true

require_relative "circles"
require_relative "constants"
require_relative "family"
require_relative "rooms"
require_relative "source_file"

module Support
  module House
    # All files of the gem together, and the rules of the house: each gives the sentences that say where it is broken.
    class Blueprint
      # The tree of errors is one idea.
      MANY_CONSTANTS = %w[plait/lib/plait/values/errors.rb plait-db/lib/plait/db/errors.rb].freeze

      # @param root [String] the folder of the project
      # @return [Blueprint] of the files that are there
      def self.read(root)
        paths = Dir.glob(%w[plait*/lib/**/*.rb plait/exe/*], base: root).sort
        new(paths.to_h { |path| [path, File.read(File.join(root, path))] })
      end

      # @return [Hash{String => SourceFile}] by path
      attr_reader :files

      # @param sources [Hash{String => String}] path => Ruby
      def initialize(sources)
        @files = sources.to_h { |path, source| [path, SourceFile.new(path, source)] }
        @constants = Constants.new(@files)
      end

      # @return [Array<Array(String, String)>] each pair of rooms of which the one requires the other
      def arrows
        pairs = files.values.flat_map { |file| file.files.map { |other| [file.room, room_of(other)] } }
        pairs.uniq.reject { |from, to| from == to }.sort
      end

      # @return [Array<String>] files in rooms the table doesn't know
      def strangers
        lost = files.values.reject { |file| ROOMS.key?(file.room) }
        lost.map { |file| "#{file.path}: the table of rooms has no #{file.room.inspect}" }
      end

      # @return [Array<String>] requires of files that are not there
      def dangling
        each_require do |file, other|
          "#{file.path} requires #{other}, which does not exist" unless files.key?(other) || other == SourceFile::EXTENSION
        end
      end

      # @return [Array<String>] requires across rooms that the table does not allow
      def forbidden_requires
        each_require do |file, other|
          "#{file.path} (#{file.room}) requires #{other}" unless may_use?(file, other)
        end
      end

      # @return [Array<String>] requires of files of a gem on which the requiring one does not depend
      def borders
        each_require do |file, other|
          next if other == SourceFile::EXTENSION || Family.may_use?(file.gem, other[%r{\A[^/]+}])

          "#{file.path} requires #{other}, and #{file.gem}.gemspec names no such dependency"
        end
      end

      # @return [Array<String>] relative requires that leave their gem, which in an installed one has no such neighbour
      def leaving
        files.values.flat_map do |file|
          strangers = file.relatives.reject { |other| other.start_with?("#{file.gem}/") }
          strangers.map { |other| "#{file.path} requires #{other} by a relative path" }
        end
      end

      # @return [Array<String>] requires below the top of a file, where the structure can't be read off
      def late_requires
        files.values.flat_map do |file|
          file.late_requires.map { |other, line| "#{file.path}:#{line} requires #{other}" }
        end
      end

      # Elsewhere than in the face: Sidekiq finds what it runs by its name, and that needs its gem.
      LAZY = %w[plait-sidekiq/lib/plait/mechanisms/sidekiq.rb plait/lib/plait/mechanisms.rb].freeze
      private_constant :LAZY

      # @return [Array<String>] autoloads outside of the face
      def autoloads
        lazy = files.values.reject { |file| file.room == "face" || file.autoloads.empty? || LAZY.include?(file.path) }
        lazy.map { |file| "#{file.path} autoloads #{file.autoloads.join(", ")}" }
      end

      # @return [Array<String>] libraries that the table does not allow in the room
      def forbidden_libraries
        files.values.flat_map do |file|
          foreign = file.libraries - ROOMS.fetch(file.room).libraries
          foreign.map { |name| "#{file.path} (#{file.room}) requires #{name.inspect}" }
        end
      end

      # @return [Array<String>] constants of Ruby that the room must never name
      def forbidden_constants
        each_reference do |file, reference|
          next if @constants.homes(reference) || !ROOMS.fetch(file.room).never.include?(reference.head)

          "#{file.path}:#{reference.line} (#{file.room}) names #{reference.path}"
        end
      end

      # @return [Array<String>] constants of Plait named in a room that may not know them
      def forbidden_names
        each_reference do |file, reference|
          homes = @constants.homes(reference) or next
          next if homes.any? { |home| may_use?(file, home) } || autoloaded?(file, reference)

          "#{file.path}:#{reference.line} (#{file.room}) names #{reference.path} of #{homes.join(", ")}"
        end
      end

      # @return [Array<String>] constants of Plait whose file is not required at the top of the file that names them
      def unrequired_names
        each_reference do |file, reference|
          homes = @constants.homes(reference) or next
          next if autoloaded?(file, reference) || @constants.at_hand?(file, reference)

          "#{file.path}:#{reference.line} names #{reference.path} and does not require #{homes.join(" or ")}"
        end
      end

      # @return [String, nil] the full name of a constant that another gem defines
      def foreign(file, reference)
        homes = @constants.homes(reference) or return
        @constants.resolve(reference) if homes.none? { |home| home.start_with?("#{file.gem}/") }
      end

      # @return [Array<String>] files that do not define the constant of their name
      def misnamed
        one = files.values.select { |file| file.library? && (file.definitions - ["Plait"]).any? }
        lost = one.reject { |file| MANY_CONSTANTS.include?(file.path) }
                  .reject { |file| file.definitions.any? { |name| Constants.named_alike?(file.path, name) } }
        lost.map { |file| "#{file.path} defines #{file.definitions.join(", ")}, and not the constant of its name" }
      end

      # @return [Array<String>] places that print
      def prints
        files.values.flat_map { |file| file.prints.map { |what, line| "#{file.path}:#{line} uses #{what}" } }
      end

      # @return [Array<String>] circles of requires, each once
      def circles = Circles.in(files.transform_values(&:files)).map { |circle| circle.join(" -> ") }

      private

      # Between gems their gemspecs decide.
      def may_use?(file, other)
        (other != SourceFile::EXTENSION && file.gem != other[%r{\A[^/]+}]) || House.may_use?(file.room, room_of(other))
      end

      def room_of(path) = files[path]&.room || SourceFile.new(path, "").room

      def autoloaded?(file, reference) = file.autoloads.include?(reference.head)

      def each_require
        files.values.flat_map { |file| file.files.filter_map { |other| yield(file, other) } }
      end

      def each_reference
        files.values.flat_map { |file| file.references.filter_map { |reference| yield(file, reference) } }.uniq
      end
    end
  end
end
