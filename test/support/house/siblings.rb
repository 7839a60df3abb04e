# frozen_string_literal: true

require_relative "../root"
require_relative "blueprint"

module Support
  module House
    # Constants that gems of the family use of each other and users do not name. `siblings.txt` lists them, a line each with
    # the gems that use the constant; a test compares the list with the code, and `rake house:siblings` writes it.
    module Siblings
      PATH = File.join(__dir__, "siblings.txt")
      # Pages for users: a constant that one of these names is for users.
      PAGES = %w[README.md guides/*.md plait*/README.md].freeze
      # Classes that users get as results, without naming these.
      RESULTS = %w[Plait Plait::VERSION Plait::Outcome Plait::Deadline].freeze

      module_function

      # @return [Array<String>] the names in the list
      def names = File.readlines(PATH).map { |line| line[/\S+(?=:)/] }

      # @return [String] the list as the code has it
      def in_code
        uses.except(*users).sort.map { |name, gems| "#{name}: #{gems.sort.join(", ")}\n" }.join
      end

      def write = File.write(PATH, in_code)

      # @return [Hash{String => Array<String>}] constant => gems that name it, and do not define it
      def uses
        blueprint.files.values.each_with_object({}) do |file, found|
          file.references.each do |reference|
            name = blueprint.foreign(file, reference)
            found[name] = (found[name] || []) | [file.gem] if name
          end
        end
      end

      def users
        @users ||= RESULTS + pages.scan(/\bPlait(?:::[A-Z]\w*)+/) +
                   blueprint.files.values.select { |file| file.path.end_with?("/errors.rb") }.flat_map(&:definitions)
      end

      def pages = PAGES.flat_map { |pattern| Dir[File.join(ROOT, pattern)] }.map { |path| File.read(path) }.join

      def blueprint = @blueprint ||= Blueprint.read(ROOT)
    end
  end
end
