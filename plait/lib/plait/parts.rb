# frozen_string_literal: true

module Plait
  # Files of one kind that any gem of the family may bring, found by their place: plait/commands/NAME.rb, plait/suites/NAME.rb.
  class Parts
    # @return [Hash{String => Exception}] the names of files that {load} could not load, and why
    attr_reader :broken

    # @param kind [String] the folder below plait/
    def initialize(kind)
      @pattern = "plait/#{kind}/*.rb"
      @own = File.expand_path("#{kind}/*.rb", __dir__)
      @broken = {}
    end

    # @return [Array<String>] in the order of the alphabet
    def names = files.keys.sort

    # A file that can't be loaded must not keep the others from working.
    # @param wanted [Array<String>] names
    # @return [Array<String>] the names of the files that are loaded now
    def load(wanted = names) = files.slice(*wanted).select { |name, file| load_one(name, file) }.keys.sort

    private

    # With Bundler only files of the bundle; of several versions the newest, as RubyGems takes it.
    def files = @files ||= [*Dir[@own], *found].reverse.to_h { |path| [File.basename(path, ".rb"), path] }

    # Plait's own folder is on the load path only where a gem or a program put it there.
    def found
      others = defined?(Gem) ? Gem.find_latest_files(@pattern) : $LOAD_PATH.flat_map { |folder| Dir[File.join(folder, @pattern)] }
      [*Dir[File.expand_path("../#{@pattern}", __dir__)], *others]
    end

    def load_one(name, file)
      require file
      true
    rescue StandardError, ScriptError => e
      broken[name] = e
      false
    end
  end
  private_constant :Parts
end
