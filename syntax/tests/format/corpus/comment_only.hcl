
      # just this
